package debug

// Patterns are the patterns of all routes of a Config.
func Patterns(config Config) (patterns []string) {
	for _, r := range routes(config) {
		patterns = append(patterns, r.pattern)
	}
	return patterns
}

// ConnectionsFor is how many connections are open at once for so many files.
var ConnectionsFor = defaultMaxConnections
