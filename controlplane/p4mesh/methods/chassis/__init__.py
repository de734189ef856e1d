"""Tests of chassis with many ports, in the form of the published reports about them."""
