"""A law at many parameters and points at once: value, gradient and Hessian."""
