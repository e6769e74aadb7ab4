"""What fills the store: bars in, setups and their statistics out, sealed as one night."""
