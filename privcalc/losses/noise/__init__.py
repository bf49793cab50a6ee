"""Laws of additive noise: Gaussian, Laplace, discrete Gaussian, truncated, of unequal variances."""
