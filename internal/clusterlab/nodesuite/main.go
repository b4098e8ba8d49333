package main

import (
	"encoding/json"
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"
)

// options are the flags of the program.
type options struct {
	Node, Focus, Skip, LabelFilter, Table, Keep string
	Procs                                       int
	Timeout                                     time.Duration
	Conformance, Check                          bool
}

// conformanceFilter selects the specs that every node has to pass and that can run beside others.
const conformanceFilter = "NodeConformance && !Slow && !Serial && !Flaky && !Disruptive"

func main() {
	if standInFor(filepath.Base(os.Args[0])) {
		os.Exit(runStandIn(filepath.Base(os.Args[0]), os.Args[1:]))
	}
	if len(os.Args) == 3 && (os.Args[1] == commandInit || os.Args[1] == commandRun) {
		os.Exit(runIsolatedCommand(os.Args[1], os.Args[2]))
	}
	var o options
	flag.StringVar(&o.Node, "node", "both", "`podkeel|kubelet|both` runs the specs")
	flag.StringVar(&o.Focus, "focus", "", "`regular expression` of the specs that run")
	flag.StringVar(&o.Skip, "skip", "", "`regular expression` of the specs that do not run")
	flag.StringVar(&o.LabelFilter, "label-filter", "", "`filter` of ginkgo for the specs that run")
	flag.StringVar(&o.Table, "table", "NODESUITE.md", "`file` with the results; if empty none is written")
	flag.StringVar(&o.Keep, "keep", "", "`directory` for the reports and the logs; if empty they are removed")
	flag.IntVar(&o.Procs, "procs", 1, "`number` of specs that run at the same time")
	flag.DurationVar(&o.Timeout, "timeout", 3*time.Hour, "`duration` of the specs on one node; specs that have not ended then have no result")
	flag.BoolVar(&o.Conformance, "conformance", false, "runs NodeConformance without Slow, Serial, Flaky and Disruptive specs")
	flag.BoolVar(&o.Check, "check", false, "runs the specs of -conformance, writes no table, and fails if a spec that the table marks as passed does not pass")
	flag.Parse()
	if err := runSuites(o); err != nil {
		fmt.Fprintln(os.Stderr, "nodesuite:", err)
		os.Exit(1)
	}
}

// runSuites builds the programs, runs the suite on each node and writes the table. With Check it compares the results with
// the table instead.
func runSuites(o options) error {
	nodes := []string{nodePodkeel, nodeKubelet}
	if o.Node != "both" {
		nodes = []string{o.Node}
	}
	if nodes[0] != nodePodkeel && nodes[0] != nodeKubelet {
		return fmt.Errorf("-node %q: expected podkeel, kubelet or both", o.Node)
	}
	if o.Check || o.Conformance {
		o.LabelFilter = strings.Trim(o.LabelFilter+" && "+conformanceFilter, " &")
	}
	if o.Check && o.Node == "both" {
		nodes = nodes[:1]
	}
	if missing := missingPrograms(); len(missing) > 0 {
		return fmt.Errorf("this machine cannot run containers: %s", strings.Join(missing, ", "))
	}
	built, err := buildPrograms(nodes)
	if err != nil {
		return err
	}
	t, err := readTable(o.Table)
	if err != nil {
		return err
	}
	for _, node := range nodes {
		results, err := runOn(node, o, built)
		if err != nil {
			return fmt.Errorf("%s: %w", node, err)
		}
		fmt.Printf("%s: %s\n", node, countOutcomes(results))
		if o.Check {
			if err := t.printAndCheckResults(os.Stdout, node, results); err != nil {
				return err
			}
			continue
		}
		t.storeResults(node, results)
		if err := t.writeFile(o.Table); err != nil {
			return err
		}
	}
	return nil
}

// runOn runs the suite in namespaces of its own, and returns the results. It removes the files and the cgroups of the
// run, and moves the logs to o.Keep.
func runOn(node string, o options, built programs) (_ []result, err error) {
	dir, err := os.MkdirTemp("", "nodesuite-")
	if err != nil {
		return nil, err
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	r := isolatedRun{Dir: dir, Node: node, Options: o, Programs: built}
	text, err := json.Marshal(r)
	if err != nil {
		return nil, err
	}
	file := filepath.Join(dir, "run.json")
	if err := os.WriteFile(file, text, 0o600); err != nil {
		return nil, err
	}
	before, stateDir := podCgroups(""), filepath.Join(dir, "private", "var-lib-kubelet")
	ran := startIsolated(file)
	removeCgroups(before, stateDir)
	if o.Keep != "" {
		if err := keepLogs(dir, filepath.Join(o.Keep, node)); err != nil {
			return nil, err
		}
	}
	results, err := readReport(filepath.Join(dir, "suite", reportFile))
	if err != nil {
		return nil, errors.Join(ran, err) // Without a report the suite has not run.
	}
	return results, nil
}

// keepLogs copies the report and the log files of a run.
func keepLogs(dir, to string) error {
	if err := os.MkdirAll(to, 0o755); err != nil {
		return err
	}
	for _, pattern := range []string{"suite/*.json", "*.log", "logs/*.log"} {
		files, err := filepath.Glob(filepath.Join(dir, pattern))
		if err != nil {
			return err
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				return err
			}
			if err := os.WriteFile(filepath.Join(to, filepath.Base(file)), text, 0o644); err != nil {
				return err
			}
		}
	}
	return nil
}
