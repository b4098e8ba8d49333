package lint

import (
	"os"
	"path/filepath"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestProse fails for a hard phrase that was added to a comment or a Markdown file. With -v it prints the
// places of all:
//
//	go test ./internal/lint -run TestProse -v
//
// -rewrite records that phrases were removed. It never records a new one: say it in another way, with the actor
// as the subject of the sentence.
func TestProse(t *testing.T) {
	const file = "testdata/prose.txt"
	report, err := CheckProse(loadModule(t))
	require.NoError(t, err)
	for _, p := range report.Places {
		t.Log(p)
	}
	for _, kind := range []Prose{ProductionComments, TestComments, Documents} {
		require.NotZero(t, report.Lines[kind])
		t.Logf("%s: %.2f hard phrases in 100 lines", kind, report.Per100(kind))
	}
	recorded, err := os.ReadFile(file)
	require.NoError(t, err)
	if *rewrite {
		recorded = []byte(LowerProse(report.Places, string(recorded)))
		require.NoError(t, os.WriteFile(file, recorded, 0o644))
	}
	for _, p := range AddedProse(report.Places, string(recorded)) {
		t.Errorf("%s: one of these was added: say who does what", p)
	}
	if LowerProse(report.Places, string(recorded)) != string(recorded) {
		t.Log("phrases were removed: go test ./internal/lint -run TestProse -rewrite records that")
	}
}

func TestCheckProse(t *testing.T) {
	root := t.TempDir()
	write := func(name, text string) {
		require.NoError(t, os.WriteFile(filepath.Join(root, name), []byte(text), 0o644))
	}
	write("a.go", "// Package a is told\n// anew.\npackage a\n\nvar x = \"nobody\"\n")
	write("a_test.go", "package a\n\n// Whoever reads what\n// is here.\n")
	write("README.md", "A title\n\nThose of\nothers.\n")
	m, err := Load(root, "example.com/a")
	require.NoError(t, err)
	report, err := CheckProse(m)
	require.NoError(t, err)
	var got []string
	for _, p := range report.Places {
		got = append(got, p.String())
	}
	assert.Equal(t, []string{"README.md:3: those of", "a.go:1: anew", "a.go:1: is told", "a_test.go:3: what is", "a_test.go:3: whoever"}, got)
	assert.Equal(t, 100.0, report.Per100(ProductionComments))

	recorded := ".: production: anew: 2\n.: production: is told: 1\n.: tests: what is: 1\n"
	var added []string
	for _, p := range AddedProse(report.Places, recorded) {
		added = append(added, p.String())
	}
	assert.Equal(t, []string{"README.md:3: those of", "a_test.go:3: whoever"}, added)
	assert.Equal(t, ".: production: anew: 1\n.: production: is told: 1\n.: tests: what is: 1\n", LowerProse(report.Places, recorded), "it adds nothing")
}
