package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// reportFile is the report of ginkgo in the directory of the suite.
const reportFile = "report.json"

// systemSpec replaces the suite's requirements on the machine: its kernel configuration may not be readable.
const systemSpec = "os: Linux\nkernelSpec:\n  versions: ['.*']\n"

// runSuite starts containerd and the stand-in for systemd, and runs the specs. It returns the error of the suite, which
// is not nil if a spec has failed.
func (r *isolatedRun) runSuite() error {
	dir, bin, socket := filepath.Join(r.Dir, "suite"), filepath.Join(r.Dir, "bin"), filepath.Join(r.Dir, "units")
	if err := os.MkdirAll(filepath.Join(dir, "kubelet.conf.d"), 0o755); err != nil {
		return err
	}
	if err := r.serveImages(); err != nil {
		return fmt.Errorf("the images cannot be made: %w", err)
	}
	containerd, err := r.startContainerd()
	if err != nil {
		return err
	}
	defer containerd.signalAndWait(syscall.SIGTERM)
	if err := r.tagDigestImage(); err != nil {
		return err
	}
	if r.Node == nodePodkeel {
		r.front = newFront()
		if err := r.front.servePorts(); err != nil {
			return err
		}
		// The suite writes to this cgroup before eviction specs. The pods of Podkeel have another one.
		if err := os.MkdirAll("/sys/fs/cgroup/memory/kubepods", 0o755); err != nil {
			return err
		}
	}
	if err := (&units{start: r.startNode}).serveRequests(socket); err != nil {
		return err
	}
	if err := writeStandIns(bin, r.Programs.Self); err != nil {
		return err
	}
	links := map[string]string{
		"e2e_node.test": filepath.Join(r.Programs.Suite, "e2e_node.test"),
		"kubelet":       r.Programs.Agent, // The suite passes this name to systemd-run, and startNode chooses the program.
	}
	for name, program := range links {
		if err := os.Symlink(program, filepath.Join(dir, name)); err != nil {
			return err
		}
	}
	for name, text := range map[string]string{"base-config.yaml": baseConfig, "system.yaml": systemSpec, "../private/var-lib-kubelet/config.yaml": baseConfig} {
		if err := os.WriteFile(filepath.Join(dir, name), []byte(text), 0o644); err != nil {
			return err
		}
	}
	env := []string{"PATH=" + bin + ":" + os.Getenv("PATH"), socketVariable + "=" + socket}
	ginkgo, err := startProcess(dir, filepath.Join(r.Dir, "logs", "suite.log"), env, filepath.Join(r.Programs.Suite, "ginkgo"), r.ginkgoArguments(dir)...)
	if err != nil {
		return err
	}
	if err := <-ginkgo.exited; err != nil {
		return fmt.Errorf("the suite: %w", err)
	}
	return nil
}

// ginkgoArguments returns the arguments of ginkgo, then "--", then the arguments of the suite.
func (r *isolatedRun) ginkgoArguments(dir string) []string {
	args := []string{"-procs=" + strconv.Itoa(r.Options.Procs), "-timeout=" + r.Options.Timeout.String(), "-json-report=" + reportFile, "-output-dir=" + dir, "-no-color"}
	for name, value := range map[string]string{"focus": r.Options.Focus, "skip": r.Options.Skip, "label-filter": r.Options.LabelFilter} {
		if value != "" {
			args = append(args, "-"+name+"="+value)
		}
	}
	return append(args, filepath.Join(dir, "e2e_node.test"), "--",
		"--node-name="+nodeName, "--container-runtime-endpoint=unix://"+containerdSocket, "--prepull-images=false",
		"--kubelet-config-file="+filepath.Join(dir, "base-config.yaml"), "--system-spec-file="+filepath.Join(dir, "system.yaml"),
		"--report-dir="+filepath.Join(r.Dir, "logs"), "--container-runtime-process-name=containerd", "--dns-domain=cluster.local")
}
