package conformance_test

import (
	"errors"
	"fmt"
	"runtime"
	"testing"

	"github.com/stretchr/testify/assert"

	"github.com/podkeel/podkeel/internal/conformance"
)

// recorder is a T of a caller that is no test.
type recorder struct {
	testing.TB
	said  []string
	exits bool // FailNow and Skipf stop the goroutine, as in a test
}

func (*recorder) Helper() {}
func (r *recorder) Errorf(format string, args ...any) {
	r.said = append(r.said, fmt.Sprintf(format, args...))
}
func (r *recorder) FailNow() { r.end() }
func (r *recorder) Skipf(format string, args ...any) {
	r.said = append(r.said, "skipped: "+fmt.Sprintf(format, args...))
	r.end()
}

func (r *recorder) end() {
	if r.exits {
		runtime.Goexit()
	}
}

// A case stops where it fails or is skipped, whether FailNow and Skipf return or not.
func TestBench_StopsAtTheFailure(t *testing.T) {
	for want, step := range map[string]func(*conformance.Bench){
		"":                          func(b *conformance.Bench) { b.Check(true, "right"); b.Must(nil, "Call") },
		"wrong 1\npromise: P":       func(b *conformance.Bench) { b.Failf("wrong %d", 1) },
		"wrong 2\npromise: P":       func(b *conformance.Bench) { b.Check(false, "wrong %d", 2) },
		"Call: boom\npromise: P":    func(b *conformance.Bench) { b.Must(errors.New("boom"), "Call") },
		"skipped: no disk":          func(b *conformance.Bench) { b.Skipf("no %s", "disk") },
		"wrong\na hint\npromise: P": func(b *conformance.Bench) { b.Note = func() string { return "a hint" }; b.Failf("wrong") },
		"a hint\npromise: P":        func(b *conformance.Bench) { b.Note = func() string { return "a hint" }; b.Failf("a hint") },
	} {
		for _, exits := range []bool{false, true} {
			r, goesOn, clean := &recorder{exits: exits}, false, false
			done := make(chan struct{})
			go func() {
				defer close(done)
				b := &conformance.Bench{T: r, Name: "a/b", Promise: "P"}
				b.Do(func() {
					defer func() { clean = true }()
					step(b)
					goesOn = true
				})
			}()
			<-done
			if want == "" {
				assert.Empty(t, r.said)
			} else {
				assert.Equal(t, []string{want}, r.said)
			}
			assert.Equal(t, want == "", goesOn, want)
			assert.True(t, clean, want)
		}
	}
}

// Any other panic of a case propagates.
func TestBench_OtherPanicsPropagate(t *testing.T) {
	assert.PanicsWithValue(t, "boom", func() { (&conformance.Bench{}).Do(func() { panic("boom") }) })
}
