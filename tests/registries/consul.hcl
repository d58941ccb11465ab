# What local development adds to a Consul server, whether tests/registries/up or docker-compose.yml starts it.
acl {
  enabled        = true
  default_policy = "deny"
  # The seeding gives the agent its token while it runs; it has to know it after a restart too.
  enable_token_persistence = true
}

disable_update_check = true

performance {
  # An election in one second instead of five.
  raft_multiplier = 1
}
