package lint

import (
	"os"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestCompatible prints each incompatible change of a beta or stable package since v0.1.0. It fails for a change that the
// section Unreleased of CHANGELOG.md does not name. Write the printed line there, without its sign and in backquotes, and
// what importers do now.
func TestCompatible(t *testing.T) {
	released, err := os.ReadFile("testdata/api-v0.1.0.txt")
	require.NoError(t, err)
	changelog, err := os.ReadFile("../../CHANGELOG.md")
	require.NoError(t, err)
	changes := IncompatibleChanges(string(released), API(loadModule(t), Podkeel().Tiers))
	for _, change := range changes {
		t.Log(change)
	}
	for _, change := range UnexplainedChanges(changes, string(changelog)) {
		t.Errorf("%s: CHANGELOG.md does not say what importers do now", change)
	}
}

func TestIncompatibleChanges(t *testing.T) {
	released := `package a beta
a: func New(cfg Config) *A
a: func Old()
a: type Config struct
a: type Config, Size int
a: type Source interface
a: type Source, Read func() error
package b experimental
b: func Old()
`
	now := `package a experimental
a: func New(cfg Config) *A
a: func Newer()
a: type Config struct
a: type Config, More int
a: type Config, Size int64
a: type Source interface
a: type Source, Read func() error
a: type Source, Write func() error
package b experimental
b: func New()
`
	changes := IncompatibleChanges(released, now)
	assert.Equal(t, []string{"- a: func Old()", "- a: type Config, Size int", "+ a: type Source, Write func() error"}, changes)
	assert.Empty(t, IncompatibleChanges(released, released))

	changelog := "# Changelog\n\n## [Unreleased]\n\n- `a: func Old()` is gone: call New.\n- `a: type Config,\n  Size int` is an int64.\n"
	assert.Equal(t, changes[2:], UnexplainedChanges(changes, changelog+"\n## [0.1.0]\n\n- `a: type Source, Write func() error`\n"), "a released section explains nothing")
	assert.Equal(t, changes[2:], UnexplainedChanges(changes, changelog))
	assert.Equal(t, changes, UnexplainedChanges(changes, "# Changelog\n\n## [0.2.0]\n\n- `a: func Old()`\n"))
}
