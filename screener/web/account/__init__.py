"""Pages of an account: sign-in, keys, apps, activity, consent."""
