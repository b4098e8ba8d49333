package clusterlab_test

import (
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// asked is a kind of request about an object, with the keys of its patches.
type asked struct {
	kind string
	keys []string
}

// parseHalf parses one half of a transcript: the requests about each object, in order.
func parseHalf(text string) map[string][]asked {
	objects, object := map[string][]asked{}, ""
	for line := range strings.Lines(text) {
		line = strings.TrimSuffix(line, "\n")
		switch trimmed := strings.TrimLeft(line, " "); len(line) - len(trimmed) {
		case 0:
			object = strings.TrimSpace(line)
			objects[object] = nil
		case 2:
			objects[object] = append(objects[object], asked{kind: trimmed})
		default:
			last := &objects[object][len(objects[object])-1]
			last.keys = append(last.keys, trimmed)
		}
	}
	return objects
}

// diffRequests returns the difference of two lists of requests: "-get pods" for a request of a only, and "+patch
// pods/status status.reason" for a key that only b has in a common request. A request that both have in another order
// is in the result twice, with "-" and "+".
func diffRequests(a, b []asked) (all []string) {
	common := make([][]int, len(a)+1) // the length of the longest common sequence from there on
	for i := range common {
		common[i] = make([]int, len(b)+1)
	}
	for i := len(a) - 1; i >= 0; i-- {
		for j := len(b) - 1; j >= 0; j-- {
			if common[i][j] = max(common[i+1][j], common[i][j+1]); a[i].kind == b[j].kind {
				common[i][j] = common[i+1][j+1] + 1
			}
		}
	}
	i, j := 0, 0
	for i < len(a) || j < len(b) {
		switch {
		case i < len(a) && j < len(b) && a[i].kind == b[j].kind:
			all = append(append(all, missingKeys("-", a[i], b[j])...), missingKeys("+", b[j], a[i])...)
			i, j = i+1, j+1
		case j == len(b) || i < len(a) && common[i+1][j] >= common[i][j+1]:
			all = append(all, "-"+a[i].kind)
			i++
		default:
			all = append(all, "+"+b[j].kind)
			j++
		}
	}
	return all
}

// missingKeys returns the keys of a that b lacks, after the sign and the kind of the request.
func missingKeys(sign string, a, b asked) (all []string) {
	for _, key := range a.keys {
		if !slices.Contains(b.keys, key) {
			all = append(all, sign+a.kind+" "+key)
		}
	}
	return all
}

// readDifferences returns the differences in the stored transcripts, in the form "story object: -get pods".
func readDifferences(t *testing.T) (all []string) {
	files, err := filepath.Glob(filepath.Join("testdata", "audit", "*.txt"))
	require.NoError(t, err)
	told := []string{"node-registers"}
	for _, s := range slices.Concat(stories, nodeStories) {
		told = append(told, s.name)
	}
	var kept []string
	for _, file := range files {
		kept = append(kept, strings.TrimSuffix(filepath.Base(file), ".txt"))
	}
	require.ElementsMatch(t, told, kept, "a story has a transcript, and a transcript a story")
	for _, file := range files {
		text, err := os.ReadFile(file)
		require.NoError(t, err)
		kubelet, podkeel, _ := strings.Cut(strings.TrimPrefix(string(text), "# kubelet\n"), "# podkeel\n")
		theirs, ours := parseHalf(kubelet), parseHalf(podkeel)
		for object := range ours {
			theirs[object] = append([]asked(nil), theirs[object]...)
		}
		for object := range theirs {
			for _, what := range diffRequests(theirs[object], ours[object]) {
				all = append(all, fmt.Sprintf("%s %s: %s", strings.TrimSuffix(filepath.Base(file), ".txt"), object, what))
			}
		}
	}
	slices.Sort(all)
	return all
}

// readListedPatterns reads the patterns in the first column of the table of AUDIT.md. A * matches any text, and a ?
// matches one character.
func readListedPatterns(t *testing.T) map[string]*regexp.Regexp {
	text, err := os.ReadFile("AUDIT.md")
	require.NoError(t, err)
	all := map[string]*regexp.Regexp{}
	for line := range strings.Lines(string(text)) {
		if columns := strings.Split(line, "|"); len(columns) == 6 {
			for _, quoted := range regexp.MustCompile("`[^`]+`").FindAllString(columns[1], -1) {
				pattern := strings.Trim(quoted, "`")
				all[pattern] = regexp.MustCompile("^" + strings.NewReplacer(`\*`, ".*", `\?`, ".").Replace(regexp.QuoteMeta(pattern)) + "$")
			}
		}
	}
	return all
}

// TestAudit_Differences: AUDIT.md lists each difference of the transcripts, and none that there
// is not.
func TestAudit_Differences(t *testing.T) {
	found, patterns := readDifferences(t), readListedPatterns(t)
	require.NotEmpty(t, patterns)
	used := map[string]bool{}
	for _, what := range found {
		known := false
		for pattern, expression := range patterns {
			if expression.MatchString(what) {
				known, used[pattern] = true, true
			}
		}
		assert.True(t, known, "AUDIT.md does not list: %s", what)
	}
	for pattern := range patterns {
		assert.True(t, used[pattern], "AUDIT.md lists a difference that no longer exists: %s", pattern)
	}
}

// TestDiffer: additional, missing and reordered requests are differences.
func TestDiffer(t *testing.T) {
	a := parseHalf("pods p\n  create pods\n  get pods\n  patch pods/status\n    one\n    two\n  delete pods\n")["pods p"]
	b := parseHalf("pods p\n  create pods\n  patch pods/status\n    two\n    three\n  delete pods\n  list pods\n")["pods p"]
	assert.Equal(t, []string{"-get pods", "-patch pods/status one", "+patch pods/status three", "+list pods"}, diffRequests(a, b))
	assert.Equal(t, []string{"-watch nodes", "+watch nodes"}, diffRequests(parseHalf("n\n  watch nodes\n  create nodes\n")["n"], parseHalf("n\n  create nodes\n  watch nodes\n")["n"]))
	assert.Empty(t, diffRequests(a, a))
}
