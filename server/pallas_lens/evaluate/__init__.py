"""Syntax tree to values to model: a partial evaluator that never runs the user's code.

Expressions, statements, calls, classes, decorators, attributes and the library tables each call the others. Such files
import one another as modules (``from . import calling``): then it does not matter which of them is imported first, and
no function has to import anything while it runs.
"""
