package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// writtenText returns the table as it is written.
func (t *table) writtenText(test *testing.T) string {
	file := filepath.Join(test.TempDir(), "table.md")
	require.NoError(test, t.writeFile(file))
	text, err := os.ReadFile(file)
	require.NoError(test, err)
	return string(text)
}

// TestTable: results of one node keep those of the other node, and reasons that people wrote. A spec that passes loses its
// reason, and a spec without a reason gets its failure.
func TestTable(t *testing.T) {
	file := filepath.Join(t.TempDir(), "NODESUITE.md")
	require.NoError(t, os.WriteFile(file, []byte("# Specs\n\n"+tableHead+"| a | failed | passed | this machine |\n| b | failed | failed | stand-in |\n"), 0o644))
	read, err := readTable(file)
	require.NoError(t, err)
	read.storeResults(nodePodkeel, []result{{"a", "failed", "timeout"}, {"b", "passed", ""}, {"c|d", "failed", "no | yes"}, {"e", "skipped", "no swap"}})
	read.storeResults(nodeKubelet, []result{{"c|d", "passed", ""}})
	assert.Equal(t, "# Specs\n\n"+tableHead+
		"| a | failed | passed | this machine |\n"+
		"| b | passed | failed |  |\n"+
		"| c/d | failed | passed | to be explained: no / yes |\n"+
		"| e | skipped |  | skipped: no swap |\n", read.writtenText(t))
	require.NoError(t, read.writeFile(file))
	again, err := readTable(file)
	require.NoError(t, err)
	assert.Equal(t, read, again)
}

// TestTable_Compare: a spec that the table marks as passed and that fails is an error. Others are printed with their reason.
func TestTable_Compare(t *testing.T) {
	recorded := &table{rows: map[string]*row{"a": {podkeel: "passed"}, "b": {podkeel: "failed", kubelet: "passed", why: "stand-in"}}}
	var out strings.Builder
	require.NoError(t, recorded.printAndCheckResults(&out, nodePodkeel, []result{{"a", "passed", ""}, {"b", "failed", "x"}}))
	assert.Equal(t, "failed: b: stand-in\n", out.String())
	out.Reset()
	require.EqualError(t, recorded.printAndCheckResults(&out, nodePodkeel, []result{{"a", "failed", "x"}}), "1 specs did not pass that NODESUITE.md marks as passed")
	assert.Equal(t, "FAILED: a: x\n", out.String())
	require.Error(t, recorded.printAndCheckResults(&out, nodeKubelet, []result{{"b", "failed", "x"}}))
	require.EqualError(t, recorded.printAndCheckResults(&out, nodePodkeel, nil), "no spec has run")
}

// TestReadReport: specs that the flags leave out have no result, a timeout is a failure, and a failure before all specs
// is an error.
func TestReadReport(t *testing.T) {
	file := filepath.Join(t.TempDir(), reportFile)
	write := func(specs string) {
		require.NoError(t, os.WriteFile(file, []byte(`[{"SpecReports": [`+specs+`]}]`), 0o644))
	}
	write(`{"LeafNodeType": "It", "ContainerHierarchyTexts": ["[sig-node] Pods"], "LeafNodeText": "should run", "State": "passed"},
		{"LeafNodeType": "It", "LeafNodeText": "out", "State": "skipped"},
		{"LeafNodeType": "It", "LeafNodeText": "itself", "State": "skipped", "Failure": {"Message": "no swap"}},
		{"LeafNodeType": "It", "LeafNodeText": "late", "State": "timedout", "Failure": {"Message": "\nlate\nmore"}},
		{"LeafNodeType": "It", "LeafNodeText": "unfinished", "State": "timedout", "Failure": {"Message": "A suite timeout occurred"}},
		{"LeafNodeType": "It", "LeafNodeText": "stopped", "State": "interrupted", "Failure": {"Message": "Interrupted by User"}},
		{"LeafNodeType": "SynchronizedBeforeSuite", "State": "passed"}`)
	results, err := readReport(file)
	require.NoError(t, err)
	assert.Equal(t, []result{{"[sig-node] Pods should run", "passed", ""}, {"itself", "skipped", "no swap"}, {"late", "failed", "late"}}, results)
	assert.Equal(t, "3 specs: 1 failed, 1 passed, 1 skipped", countOutcomes(results))
	write(`{"LeafNodeType": "SynchronizedBeforeSuite", "State": "failed", "Failure": {"Message": "no node"}}`)
	_, err = readReport(file)
	assert.EqualError(t, err, "SynchronizedBeforeSuite: failed: no node")
}
