"""The programs that measured the data in this package.

They import jax and need libtpu (Linux x86-64; no TPU). They are run by hand, and by the
tests on a sample where an interpreter with jax is found; the server never loads them.
"""
