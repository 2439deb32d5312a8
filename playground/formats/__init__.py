"""How dates are written where no template says it: as everywhere else in the admin site."""
