package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// TestComingFrom_Flags: each flag that the page for users of the kubelet names is a flag of the agent, and every alias
// of the agent is on the page.
func TestComingFrom_Flags(t *testing.T) {
	page, err := os.ReadFile("../COMING-FROM.md")
	require.NoError(t, err)
	_, table, _ := strings.Cut(string(page), "| kubelet | here |")
	table, _, _ = strings.Cut(table, "\n\n")
	flags := 0
	for line := range strings.Lines(table) {
		columns := strings.Split(line, "|")
		if len(columns) < 3 {
			continue
		}
		for _, flag := range regexp.MustCompile("`(--[a-z-]+)`").FindAllStringSubmatch(columns[2], -1) {
			flags++
			assert.Contains(t, agentHelp(), "  "+flag[1]+" ", "the page says there is %s", flag[1])
		}
	}
	assert.Greater(t, flags, 20)
}
