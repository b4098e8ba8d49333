//go:build linux

package main

import "fmt"

// core are the packages that an importer gets without any edge. Commands have them in $core.
const core = "./runtime/... ./workqueue/... ./podworkers/... ./podmanager/... ./pleg/... ./syncloop/..."

// pageHead is the text above the tables.
const pageHead = `# What works with what

` + "`.ci/run compat`" + ` makes this page from the results of the commands below each table: see [compat](compat/main.go). The steps
` + "`cross` and `newest`" + ` of each CI run repeat the rows of other processors and systems except linux/arm, and of the newest k8s.io modules.

- *tested*: the tests of the column have passed.
- *compiles*: the code compiles, and no test has run or a test has failed.
- *no*: it does not work. The reason is below the table.
- *not run*: no command has run yet.

` + "`$core` is `" + core + "`" + `.

## What an import asks of a module

- Go 1.26. ` + "`go mod tidy`" + ` raises the ` + "`go`" + ` line of the importing module to ` + "`go 1.26.0`" + `.
- k8s.io 0.36. ` + "`go mod tidy`" + ` raises older k8s.io modules of the importing module to 0.36.0: k8s.io/api and apimachinery, and client-go if the
  module has it. A library that was made for k8s.io 0.35, as controller-runtime 0.23, then has to work with 0.36; no row tests that.
  controller-runtime 0.24 is made for 0.36, and 0.25 for 0.37.
- Nothing newer: a module with k8s.io 0.36 or 0.37 keeps it.
- The core compiles no client-go, gRPC or Prometheus, although go.mod names them.

## The machine of the tests

- Linux 6.18 on amd64, Debian 12, without systemd and AppArmor. All cgroup controllers are on cgroup v1. No row was run with systemd,
  AppArmor or cgroup v2. ` + "`.ci/run v2`" + ` runs the tests of package cgroups in a virtual machine with cgroup v2 only.
- containerd 1.6 is the package of Debian. 1.7 and 2 are built from their Go modules (` + "`+unknown`" + `). No package of Docker was run.
- Linux on arm64 is only compiled.
`

// pageTables returns the tables of the page.
func pageTables() []Table {
	return []Table{moduleTable(), serverTable(), containerdTable(), platformTable()}
}

const (
	// printModules prints the versions of the k8s.io modules and of controller-runtime.
	printModules = `echo "k8s.io $(go list -m -f '{{.Version}}' k8s.io/{api,apimachinery,client-go,component-helpers,cri-api,kubelet,streaming} | sort -u | paste -sd/), ` +
		`controller-runtime $(cd examples/operatortest; go list -m -f '{{.Version}}' sigs.k8s.io/controller-runtime)"`
	testCore = "go test -vet off -short $core"
	// nextGo lets the go command download the Go release that a module requires.
	nextGo = "export GOTOOLCHAIN=auto; "
)

// moduleTable has the families of the k8s.io modules with the controller-runtime that requires them.
func moduleTable() Table {
	const all, operators = "all packages", "examples/operatortest"
	tests := []Step{
		{Command: testCore, Tests: map[string][]string{"core": nil}},
		{Command: "cd examples/operatortest; go test .", Tests: map[string][]string{operators: nil}},
	}
	raised := func(environment, version, controllerRuntime string) []Step {
		get := "go get k8s.io/{api,apimachinery,client-go,component-helpers,cri-api,kubelet,streaming}@%[1]s; go mod tidy; go build ./..."
		getOperators := "cd examples/operatortest; go get k8s.io/{api,apiextensions-apiserver,apimachinery,client-go}@%[1]s sigs.k8s.io/controller-runtime@%[2]s; go mod tidy; go test ."
		return []Step{
			{Command: environment + fmt.Sprintf(get, version), Compiles: []string{"core", all}},
			{Command: environment + testCore, Tests: map[string][]string{"core": nil}},
			{Command: environment + fmt.Sprintf(getOperators, version, controllerRuntime), Tests: map[string][]string{operators: nil}},
		}
	}
	return Table{
		Name: "modules", Title: "k8s.io modules", Subject: "versions", Columns: []string{"core", all, operators},
		Intro: `The first row has the versions of go.mod, the second one the newest release, the third one a pre-release for information. No
controller-runtime requires that pre-release; its row has the newest controller-runtime. It needs Go 1.27, which the go command downloads.`,
		Rows: []Row{
			{Name: "oldest", Versions: printModules, Steps: append([]Step{{Command: "go build ./...", Compiles: []string{"core", all}}}, tests...)},
			{Name: "newest", Versions: printModules, InCopy: true, Steps: raised("", "latest", "latest")},
			{Name: "next", Versions: nextGo + printModules, InCopy: true, Informational: true, Steps: raised(nextGo, "v0.38.0-alpha.0", "latest")},
		},
	}
}

// serverTable has the releases of kube-apiserver.
func serverTable() Table {
	const join, run, serve, promises = "join", "run, delete", "logs, exec, port-forward", "conformance"
	tests := map[string][]string{
		join: {"TestServer", "TestJoin"}, run: {"TestJoin", "TestJoin_StaticPod", "TestJoin_ForceDeleted"},
		serve: {"TestServe"}, promises: {"TestConformance"},
	}
	table := Table{
		Name: "api-servers", Title: "API servers", Subject: "kube-apiserver", Columns: []string{join, run, serve, promises},
		Intro: `A node of examples/cluster and nodes in memory join a real kube-apiserver. etcd and kubectl are always of Kubernetes 1.36. Conformance is the
suite ` + "`apiservertest`" + `: what a node relies on in its requests and watches.`,
	}
	for _, minor := range []string{"1.34", "1.35", "1.36", "1.37"} {
		table.Rows = append(table.Rows, Row{
			Name: minor, Printed: `kube-apiserver v\S+`,
			Steps: []Step{{
				Command: "cd internal/clusterlab; PODKEEL_KUBERNETES={row} go test . -cluster -count 1 -v -timeout 60m -run '^(TestServer|TestJoin|TestJoin_StaticPod|TestJoin_ForceDeleted|TestServe|TestConformance)$'",
				Tests:   tests,
			}},
		})
	}
	return table
}

// containerdTable has the families of containerd.
func containerdTable() Table {
	const start, logs, exec, adopt, promises = "start, delete", "logs", "exec", "restart of the agent and of containerd", "conformance"
	table := Table{
		Name: "containerd", Title: "containerd", Subject: "family", Columns: []string{start, logs, exec, adopt, promises},
		Intro: `1.6 is Debian's. Conformance is the suite ` + "`runtimetest`" + ` for runtimes; without a stream of events 1.6 skips its cases. Pods in the column of
restarts come and go while the agent, containerd and both are killed; no container restarts or runs twice.`,
	}
	const env = "PODKEEL_CONTAINERD_FAMILIES={row} "
	story := func(name string) string { return "TestStories/{row}/stories/" + name }
	for _, family := range []string{"1.6", "1.7", "2"} {
		table.Rows = append(table.Rows, Row{Name: family, Printed: `containerd v?\d\S+`, Steps: []Step{
			{
				Command: env + "go test ./internal/e2e -e2e -count 1 -v -timeout 20m -run '^(TestStart|TestAgent_Life|TestStories)$/^{row}$/^(life|stories)$/^(start|logs|people|livenessExec|stop)$'",
				Tests: map[string][]string{
					start: {"TestStart/{row}", "TestAgent_Life/{row}", story("start"), story("stop")}, logs: {story("logs")}, exec: {story("people"), story("livenessExec")},
				},
			},
			{
				Command: env + "go test ./internal/e2e -count 1 -v -timeout 20m -run '^TestRestart$' -restarts 5",
				Tests:   map[string][]string{adopt: {"TestRestart/{row}"}},
			},
			{
				Command: "PODKEEL_LONG=1 " + env + "go test ./runtime/cri -count 1 -v -timeout 20m -run '^TestConformance_Containerd$'",
				Tests:   map[string][]string{promises: {"TestConformance_Containerd/{row}"}},
			},
		}})
	}
	return table
}

// platformTable has the systems and processors.
func platformTable() Table {
	columns := []string{"core", "all packages and programs"}
	build := func(system, processor, command string) Step {
		return Step{Command: "export GOOS=" + system + " GOARCH=" + processor + "; " + command, Compiles: columns}
	}
	table := Table{
		Name: "platforms", Title: "Systems and processors", Subject: "platform", Columns: columns,
		Intro: "`go vet` compiles the tests too.",
		Rows: []Row{
			{Name: "linux/amd64", Steps: []Step{{Command: "go test -short ./...", Tests: map[string][]string{columns[0]: nil, columns[1]: nil}}}},
			{Name: "linux/386", Steps: []Step{
				build("linux", "386", "go build ./..."),
				{Command: "GOARCH=386 " + testCore, Tests: map[string][]string{columns[0]: nil}},
			}},
		},
	}
	for _, processor := range []string{"arm64", "arm"} {
		table.Rows = append(table.Rows, Row{Name: "linux/" + processor, Steps: []Step{build("linux", processor, "go build ./...")}})
	}
	for _, target := range [][2]string{{"darwin", "arm64"}, {"windows", "amd64"}} {
		table.Rows = append(table.Rows, Row{Name: target[0] + "/" + target[1], Steps: []Step{build(target[0], target[1], "go build ./...; go vet ./...")}})
	}
	return table
}
