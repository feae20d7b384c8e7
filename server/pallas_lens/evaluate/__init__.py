"""Syntax tree to values to model: a partial evaluator that never runs the user's code."""
