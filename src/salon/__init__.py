"""Taste, measured."""

