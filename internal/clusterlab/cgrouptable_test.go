package clusterlab_test

import (
	"fmt"
	"maps"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
)

// cgroupDifference is a setting of a cgroup that is not the same on both nodes. A missing value is "-".
type cgroupDifference struct{ when, cgroup, file, ours, kubelet string }

// String returns the difference as a row of the table, without a reason.
func (d cgroupDifference) String() string {
	return fmt.Sprintf("| %s | %s | %s | %s | %s | ? |", d.when, d.cgroup, d.file, d.ours, d.kubelet)
}

// compareTrees returns the differences, sorted by cgroup and file. A cgroup that exists on one node only is one
// difference.
func compareTrees(when string, ours, kubelet map[string]map[string]string) (all []cgroupDifference) {
	for _, name := range sortedKeys(ours, kubelet) {
		a, inOurs := ours[name]
		b, inKubelet := kubelet[name]
		if !inOurs || !inKubelet {
			all = append(all, cgroupDifference{when, name, "the cgroup", existenceText(inOurs), existenceText(inKubelet)})
			continue
		}
		for _, file := range sortedKeys(a, b) {
			if a[file] != b[file] {
				all = append(all, cgroupDifference{when, name, file, orDash(a[file]), orDash(b[file])})
			}
		}
	}
	return all
}

// existenceText returns "exists", or "-" for a cgroup that does not exist.
func existenceText(exists bool) string {
	if exists {
		return "exists"
	}
	return "-"
}

// orDash returns a value, or "-" if it is empty.
func orDash(value string) string {
	if value == "" {
		return "-"
	}
	return value
}

// sortedKeys returns the keys of two maps.
func sortedKeys[V any](a, b map[string]V) []string {
	all := slices.Concat(slices.Collect(maps.Keys(a)), slices.Collect(maps.Keys(b)))
	slices.Sort(all)
	return slices.Compact(all)
}

// cgroupRow is a row of the table of differences. Each column but the reason is a pattern, where * is anything.
type cgroupRow struct {
	line    string
	columns [5]*regexp.Regexp
	reason  string
}

// parseCgroupRows returns the rows of all tables with six columns.
func parseCgroupRows(text string) (rows []cgroupRow) {
	for line := range strings.Lines(text) {
		columns := splitRow(line)
		if len(columns) != 6 || columns[0] == "when" || strings.HasPrefix(columns[0], "---") {
			continue
		}
		row := cgroupRow{line: strings.TrimSpace(line), reason: columns[5]}
		for i := range row.columns {
			row.columns[i] = regexp.MustCompile("^(" + strings.NewReplacer(`\*`, ".*", `, `, "|").Replace(regexp.QuoteMeta(columns[i])) + ")$")
		}
		rows = append(rows, row)
	}
	return rows
}

// splitRow returns the columns of a row of a table, or nil for another line.
func splitRow(line string) []string {
	line = strings.TrimSpace(line)
	if !strings.HasPrefix(line, "| ") && !strings.HasPrefix(line, "|-") {
		return nil
	}
	columns := strings.Split(strings.Trim(line, "|"), "|")
	for i := range columns {
		columns[i] = strings.TrimSpace(columns[i])
	}
	return columns
}

// explainsDifference reports whether a row is about a difference.
func (r cgroupRow) explainsDifference(d cgroupDifference) bool {
	for i, value := range []string{d.when, d.cgroup, d.file, d.ours, d.kubelet} {
		if !r.columns[i].MatchString(value) {
			return false
		}
	}
	return true
}

// unexplainedDifferences returns the differences without a row that has a reason.
func unexplainedDifferences(rows []cgroupRow, all []cgroupDifference) (rest []cgroupDifference) {
	for _, d := range all {
		if !slices.ContainsFunc(rows, func(r cgroupRow) bool { return r.reason != "" && r.reason != "?" && r.explainsDifference(d) }) {
			rest = append(rest, d)
		}
	}
	return rest
}

// unusedRows returns the rows that explain no difference.
func unusedRows(rows []cgroupRow, all []cgroupDifference) (rest []string) {
	for _, r := range rows {
		if !slices.ContainsFunc(all, r.explainsDifference) {
			rest = append(rest, r.line)
		}
	}
	return rest
}

// cgroupKind returns what a cgroup belongs to.
func cgroupKind(name string) string {
	elements := strings.Split(name, "/")
	depth := len(elements)
	if depth > 1 && (elements[1] == "burstable" || elements[1] == "besteffort") {
		if depth--; depth == 1 {
			return "QoS class"
		}
	}
	switch {
	case depth == 1:
		return "root"
	case depth == 2:
		return "pod"
	case strings.HasPrefix(elements[len(elements)-1], "("):
		return "sandbox"
	}
	return "container"
}

// fileRows returns the table of all files, one row for each: the kinds of cgroups that have the file on a node, and
// the kinds in which it differs.
func fileRows(ours, kubelet map[string]map[string]string, differences []cgroupDifference) (rows []string) {
	kinds, differs := map[string][]string{}, map[string][]string{}
	for _, tree := range []map[string]map[string]string{ours, kubelet} {
		for name, values := range tree {
			for file := range values {
				kinds[file] = append(kinds[file], cgroupKind(name))
			}
		}
	}
	for _, d := range differences {
		differs[d.file] = append(differs[d.file], cgroupKind(d.cgroup))
	}
	for _, file := range sortedKeys(kinds, nil) {
		result := "equal"
		if len(differs[file]) > 0 {
			result = "different: " + joinKinds(differs[file])
		}
		rows = append(rows, fmt.Sprintf("| %s | %s | %s |", file, joinKinds(kinds[file]), result))
	}
	return rows
}

// changedFileRows returns the rows of files that are also in the table, with another content. A kernel may have other
// files than the one of the table.
func changedFileRows(table, rows []string) (changed []string) {
	for _, row := range rows {
		file := splitRow(row)[0]
		if slices.ContainsFunc(table, func(old string) bool { return splitRow(old)[0] == file && old != row }) {
			changed = append(changed, row)
		}
	}
	return changed
}

// joinKinds returns the kinds of cgroups in the order of their depth, each once.
func joinKinds(kinds []string) string {
	order := []string{"root", "QoS class", "pod", "sandbox", "container"}
	return strings.Join(slices.DeleteFunc(order, func(kind string) bool { return !slices.Contains(kinds, kind) }), ", ")
}

// TestCgroups_Table: a difference needs a row with a reason, and a row needs a difference.
func TestCgroups_Table(t *testing.T) {
	ours := map[string]map[string]string{
		"root":                      {"cpu.shares": "1024"},
		"root/guaranteed":           {"memory.limit_in_bytes": "1", "pids.max": "max"},
		"root/burstable/limits":     {"cpu.shares": "2"},
		"root/burstable/limits/web": {"cpu.shares": "2"},
		"root/burstable":            {"cpu.shares": "7"},
	}
	kubelet := map[string]map[string]string{
		"root":                  {"cpu.shares": "2048"},
		"root/guaranteed":       {"memory.limit_in_bytes": "2", "pids.max": "max", "hugetlb.2MB.limit_in_bytes": "0"},
		"root/burstable/limits": {"cpu.shares": "2"},
		"root/burstable":        {"cpu.shares": "7"},
	}
	all := compareTrees("start", ours, kubelet)
	assert.Equal(t, []cgroupDifference{
		{"start", "root", "cpu.shares", "1024", "2048"},
		{"start", "root/burstable/limits/web", "the cgroup", "exists", "-"},
		{"start", "root/guaranteed", "hugetlb.2MB.limit_in_bytes", "-", "0"},
		{"start", "root/guaranteed", "memory.limit_in_bytes", "1", "2"},
	}, all)
	rows := parseCgroupRows(`
| when | cgroup | file | ours | kubelet | reason |
|---|---|---|---|---|---|
| start, resized | root | cpu.shares | 1024 | * | not limited |
| start | root/*/web | the cgroup | exists | - | ? |
| resized | root/guaranteed | memory.limit_in_bytes | 1 | 2 | another time |
| start | root/guaranteed | hugetlb.* | - | 0 | no huge pages |
`)
	assert.Len(t, rows, 4)
	assert.Equal(t, []cgroupDifference{all[1], all[3]}, unexplainedDifferences(rows, all), "a row without a reason explains nothing")
	assert.Equal(t, []string{rows[2].line}, unusedRows(rows, all))
	assert.Equal(t, []string{
		"| cpu.shares | root, QoS class, pod, container | different: root |",
		"| hugetlb.2MB.limit_in_bytes | pod | different: pod |",
		"| memory.limit_in_bytes | pod | different: pod |",
		"| pids.max | pod | equal |",
	}, fileRows(ours, kubelet, all))
	assert.Equal(t, []string{"| b | pod | equal |"}, changedFileRows([]string{"| a | pod | equal |", "| b | root | equal |"}, []string{"| a | pod | equal |", "| b | pod | equal |", "| c | pod | equal |"}))
	assert.Equal(t, "sandbox", cgroupKind("root/guaranteed/(sandbox)"))
}
