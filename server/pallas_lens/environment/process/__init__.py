"""Runs apart from the server, which jedi would make grow several times over; started by ``environment.client``."""
