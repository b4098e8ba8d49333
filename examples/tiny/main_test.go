package main

import (
	"os"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestReadme: the program in the README is this one, and as short as promised:
// 25 lines, imports included and blank ones not counted.
func TestReadme(t *testing.T) {
	program, err := os.ReadFile("main.go")
	require.NoError(t, err)
	readme, err := os.ReadFile("../../README.md")
	require.NoError(t, err)
	_, code, _ := strings.Cut(string(program), "\npackage main")
	code = "package main" + code
	assert.Contains(t, string(readme), "```go\n"+code+"```\n")
	lines := 0
	for line := range strings.Lines(code) {
		if strings.TrimSpace(line) != "" {
			lines++
		}
	}
	assert.LessOrEqual(t, lines, 25)
}
