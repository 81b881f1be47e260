"""What keeps a store bounded, sound and provable over years: cleanup, forgetting, verification and checks."""
