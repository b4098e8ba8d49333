package lifecycle

// enumName returns the name of an enum value, or "unknown" for a value without a name.
func enumName(names []string, value int) string {
	if value < len(names) && names[value] != "" {
		return names[value]
	}
	return "unknown"
}
