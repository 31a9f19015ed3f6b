"""Quantisation worked: numbers, products and hidden states in few bits, and the error it costs."""
