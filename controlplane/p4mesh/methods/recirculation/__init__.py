"""Devices that recirculate packets: latency added by failures, and failures while traffic runs."""
