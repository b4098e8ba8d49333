package lint

import (
	"slices"
	"strings"
)

// IncompatibleChanges compares the text of API at a release with the text now. It returns the changes that can break
// importers of packages that were beta or stable at the release:
//
//   - a line that is missing now: a name was removed, or its type was changed;
//   - a new method of an interface, which an importer may have implemented.
func IncompatibleChanges(released, now string) (changes []string) {
	promised, interfaces := map[string]bool{}, map[string]bool{}
	before, after := strings.Split(released, "\n"), strings.Split(now, "\n")
	for _, line := range before {
		if dir, ok := parsePromisedPackage(line); ok {
			promised[dir] = true
		}
		if name, ok := strings.CutSuffix(line, " interface"); ok {
			interfaces[name] = true
		}
	}
	for _, line := range before {
		if dir, _, ok := strings.Cut(line, ": "); ok && promised[dir] && !slices.Contains(after, line) {
			changes = append(changes, "- "+line)
		}
	}
	for _, line := range after {
		dir, _, _ := strings.Cut(line, ": ")
		if name, _, member := strings.Cut(line, ", "); member && promised[dir] && interfaces[name] && !slices.Contains(before, line) {
			changes = append(changes, "+ "+line)
		}
	}
	return changes
}

// parsePromisedPackage parses a line "package DIR TIER". It returns DIR, and true if TIER is Beta or Stable.
// For a line of another form it returns "" and false.
func parsePromisedPackage(line string) (dir string, promised bool) {
	fields := strings.Fields(line)
	if len(fields) != 3 || fields[0] != "package" {
		return "", false
	}
	return fields[1], fields[2] == string(Beta) || fields[2] == string(Stable)
}

// UnexplainedChanges returns the changes that the newest section of a change log does not name. The section names a
// change if it contains the line of API in backquotes.
func UnexplainedChanges(changes []string, changelog string) (unexplained []string) {
	newest := textBeforeFirstRelease(changelog)
	for _, change := range changes {
		if !strings.Contains(newest, "`"+change[2:]+"`") {
			unexplained = append(unexplained, change)
		}
	}
	return unexplained
}

// textBeforeFirstRelease returns the text of a change log before the heading of its first released version.
// This text includes the section Unreleased. Each run of white space becomes one space. It returns the whole
// text if no version is released.
func textBeforeFirstRelease(changelog string) string {
	text := "\n" + changelog
	for i := strings.Index(text, "\n## ["); i >= 0; {
		if !strings.HasPrefix(text[i:], "\n## [Unreleased]") {
			text = text[:i]
			break
		}
		next := strings.Index(text[i+1:], "\n## [")
		if next < 0 {
			break
		}
		i += 1 + next
	}
	return strings.Join(strings.Fields(text), " ")
}
