package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// Problem is a field of a pod that this agent does not honour.
type Problem struct {
	Field string // as "spec.containers[0].livenessProbe"
	Why   string // for people
}

// String is the problem in one line.
func (p Problem) String() string { return p.Field + ": " + p.Why }

// Features is what a pod can ask for beyond containers that run. What is false or
// nil is unsupported.
type Features struct {
	// Probes are made, also those by gRPC, and those that run a command.
	Probes, GRPCProbes, ExecProbes bool
	// Hooks that run a command are run, and those that make a request.
	ExecHooks, HTTPHooks bool
	// Deadlines: pods are ended at the end of their activeDeadlineSeconds.
	Deadlines bool
	// Hosts: the hosts file is written, and termination messages are read.
	Hosts bool
	// Logs: those of containers can be read.
	Logs bool
	// Volumes names what of a pod's volumes cannot be had. Nil: there are none.
	Volumes func(*v1.Pod) []Problem
	// VolumeFiles: variables come from files in volumes.
	VolumeFiles bool
	// Runtime says what else the runtime can do now. Nil: nothing.
	Runtime func() runtime.Features
	// Handlers are the runtime handlers by the name of their class.
	Handlers map[string]string
	// RuntimeClass finds the handler of a class that Handlers does not have. Nil: there are
	// no others.
	RuntimeClass func(class string) (handler string, known bool)
}

// Features is what the Syncer can do now, given its Config and the features of the runtime. GRPCProbes is true if
// Probes is: the caller that made the prober corrects it.
func (s *Syncer) Features() Features {
	rt := s.runtimeFeatures()
	execs := rt.HandlerRunner != nil || rt.Execer != nil
	_, none := s.cfg.Probes.(noProbes)
	p := Features{
		Probes: !none, GRPCProbes: !none, ExecProbes: !none && execs,
		ExecHooks: execs, HTTPHooks: rt.HandlerRunner != nil || s.cfg.HTTP != nil,
		Hosts: s.cfg.Files != nil, Logs: rt.LogReader != nil, Handlers: s.cfg.Handlers, RuntimeClass: s.cfg.RuntimeClass,
		Runtime: s.askRuntime,
	}
	if s.cfg.Volumes != nil {
		p.Volumes = s.volumeProblems
		p.VolumeFiles = s.cfg.Volumes.(interface{ readsFiles() bool }).readsFiles()
	}
	return p
}

// Unsupported lists the fields of a pod that a Syncer with these features does not
// honour. Those in rejected change what the pod means: it must not be run without them.
// Those in ignored do not change what runs, and may be warned about. It is pure
// but for Runtime, and called when a pod is admitted.
func Unsupported(pod *v1.Pod, features Features) (rejected, ignored []Problem) {
	if features.Volumes != nil {
		rejected = append(rejected, features.Volumes(pod)...)
	}
	var of runtime.Features
	if features.Runtime != nil {
		of = features.Runtime()
	}
	refused, missed := request.Unsupported(pod, request.Features{
		Probes: features.Probes, GRPCProbes: features.GRPCProbes, ExecProbes: features.ExecProbes,
		ExecHooks: features.ExecHooks, HTTPHooks: features.HTTPHooks, Deadlines: features.Deadlines,
		Hosts: features.Hosts, Logs: features.Logs, Volumes: features.Volumes != nil, VolumeFiles: features.VolumeFiles, Runtime: of,
		Handlers: handlers(pod, features.Handlers, features.RuntimeClass),
	})
	return appendProblems(rejected, refused), appendProblems(nil, missed)
}

// handlers has the handler of the pod's class, if there is one.
func handlers(pod *v1.Pod, fixed map[string]string, find func(string) (string, bool)) map[string]string {
	class := pod.Spec.RuntimeClassName
	if class == nil || find == nil {
		return fixed
	}
	if _, ok := fixed[*class]; ok {
		return fixed
	}
	if handler, known := find(*class); known {
		return map[string]string{*class: handler}
	}
	return fixed
}

func appendProblems(to []Problem, problems []request.Problem) []Problem {
	for _, p := range problems {
		to = append(to, Problem(p))
	}
	return to
}
