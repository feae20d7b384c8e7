"""The Pallas TPU world as plain data and integer arithmetic.

Nothing here reads files, parses code or knows an editor. Whoever fills the model
(the evaluator from source text, the worker from a traced program) says for each
fact where it came from; rules and features read it without caring.
"""
