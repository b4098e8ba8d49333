package sourcetest_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"go.uber.org/goleak"

	"github.com/podkeel/podkeel/podmanager/source"
	"github.com/podkeel/podkeel/podmanager/source/sourcetest"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func (l *list) harness() sourcetest.Harness {
	return sourcetest.Harness{Source: l, Set: l.set, Break: l.breaks}
}

func TestHandle(t *testing.T) {
	sourcetest.RunInBubble(t, func(*testing.T) sourcetest.Harness {
		h := source.NewHandle()
		return sourcetest.Harness{Source: h, Set: h.Replace}
	})
}

// recorded is a testing.TB that records its calls; its FailNow returns.
type recorded struct {
	testing.TB
	failures, skips []string
}

func (r *recorded) Helper()                   {}
func (r *recorded) Errorf(f string, a ...any) { r.failures = append(r.failures, fmt.Sprintf(f, a...)) }
func (r *recorded) FailNow()                  {}
func (r *recorded) Skipf(f string, a ...any)  { r.skips = append(r.skips, fmt.Sprintf(f, a...)) }

// TestBrokenSources: a source that breaks one promise fails the cases for it, and no others. Each
// case fails for at least one source.
func TestBrokenSources(t *testing.T) {
	noticed := map[string]bool{}
	for _, b := range broken {
		t.Run(b.how, func(t *testing.T) {
			var failed []string
			for _, c := range sourcetest.Cases() {
				synctest.Test(t, func(t *testing.T) {
					l, r := newList(), &recorded{}
					b.do(l)
					c.Run(r, l.harness())
					<-time.After(2 * time.Hour) // A late Run ends with its bubble.
					if len(r.failures) > 0 {
						failed = append(failed, c.Name)
						noticed[c.Name] = true
						assert.Contains(t, r.failures[0], c.Promise)
					}
				})
			}
			slices.Sort(failed)
			assert.Equal(t, b.cases, failed)
		})
	}
	for _, c := range sourcetest.Cases() {
		assert.True(t, noticed[c.Name], "nothing fails %s", c.Name)
	}
}

// TestCases_Names: names are distinct, and every case has a promise.
func TestCases_Names(t *testing.T) {
	seen := map[string]bool{}
	for _, c := range sourcetest.Cases() {
		assert.False(t, seen[c.Name], c.Name)
		assert.True(t, strings.HasSuffix(c.Promise, "."), c.Name)
		seen[c.Name] = true
	}
}

// TestHarness: an incomplete harness fails every case, and one without Break skips the cases of
// unreadable input.
func TestHarness(t *testing.T) {
	for _, c := range sourcetest.Cases() {
		r := &recorded{}
		c.Run(r, sourcetest.Harness{})
		assert.Equal(t, []string{"sourcetest: Harness.Source is missing\nsourcetest: Harness.Set is missing"}, r.failures)
	}
	var skipped []string
	for _, c := range sourcetest.Cases() {
		synctest.Test(t, func(t *testing.T) {
			l, r := newList(), &recorded{}
			c.Run(r, sourcetest.Harness{Source: l, Set: l.set})
			assert.Empty(t, r.failures)
			if len(r.skips) > 0 {
				skipped = append(skipped, c.Name)
			}
		})
	}
	assert.Equal(t, []string{"broken/kept", "broken/start", "broken/again"}, skipped)
}
