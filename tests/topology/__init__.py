"""Several machines as processes of one: servers behind a balancer, with what they share."""
