package lint

import (
	"os"
	"slices"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestAPI shows each change of the exported API. After -rewrite defend the difference in review. The changelog must
// describe what importers have to change.
func TestAPI(t *testing.T) {
	h := Podkeel()
	m := loadModule(t)
	const file = "testdata/api.txt"
	got := API(m, h.Tiers)
	if *rewrite {
		require.NoError(t, os.WriteFile(file, []byte(got), 0o644))
	}
	want, err := os.ReadFile(file)
	require.NoError(t, err)
	for _, line := range changedLines(string(want), got) {
		t.Error(line)
	}
	if t.Failed() {
		t.Log("the exported API has changed: go test ./internal/lint -run TestAPI -rewrite")
	}
	t.Logf("%d lines of exported names", strings.Count(got, "\n"))
}

// changedLines are the lines that only one of two texts has, with a sign, and not both texts, which
// have thousands.
func changedLines(before, after string) (changed []string) {
	was, is := strings.Split(before, "\n"), strings.Split(after, "\n")
	for _, line := range was {
		if !slices.Contains(is, line) {
			changed = append(changed, "- "+line)
		}
	}
	for _, line := range is {
		if !slices.Contains(was, line) {
			changed = append(changed, "+ "+line)
		}
	}
	if changed == nil && before != after {
		changed = []string{"the same lines are in another order, or occur another number of times"}
	}
	return changed
}

func TestChangedLines(t *testing.T) {
	assert.Empty(t, changedLines("a\nb", "a\nb"))
	assert.Equal(t, []string{"- a", "+ c"}, changedLines("a\nb", "b\nc"))
	assert.Len(t, changedLines("a\nb", "b\na"), 1)
	assert.Len(t, changedLines("a\nb", "a\na\nb"), 1)
}

// TestTiers: each package that can be imported has a tier, and no other.
func TestTiers(t *testing.T) {
	h := Podkeel()
	m := loadModule(t)
	var with, without []string
	for _, p := range m.Packages {
		if !isImportable(p) {
			continue
		}
		if _, ok := h.Tiers[p.Dir]; ok {
			with = append(with, p.Dir)
		} else {
			without = append(without, p.Dir)
		}
	}
	assert.Empty(t, without, "packages without a tier")
	assert.Len(t, h.Tiers, len(with), "tiers of packages that are not there")
}

// TestHidden_TheListIsNeeded: every entry of the list is still a finding, so that the list shrinks when a finding is
// mended.
func TestHidden_TheListIsNeeded(t *testing.T) {
	h := Podkeel()
	m := loadModule(t)
	listed := h.Hidden
	h.Hidden = nil
	r := &findings{m: m, rule: "hidden"}
	checkHiddenTypes(r, h)
	assert.Len(t, r.all, len(listed), "the list in tiers.go says of %d what is true of %d", len(listed), len(r.all))
}
