"""Several laws at once: what a curve is expected to do beyond its points, whichever law it follows."""
