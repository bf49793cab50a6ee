"""Other bounds on private selection: published ones, of which the best may win."""
