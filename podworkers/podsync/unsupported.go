package podsync

import (
	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// Problem is a field of a pod that this agent does not honour.
type Problem struct {
	Field string // for example "spec.containers[0].livenessProbe"
	Why   string // the reason in words
}

// String returns the field and the reason in one line.
func (p Problem) String() string { return p.Field + ": " + p.Why }

// Features is what pods can use beyond running containers. A field that is false or nil is unsupported.
type Features struct {
	// Probes, GRPCProbes, ExecProbes: probes of these kinds run.
	Probes, GRPCProbes, ExecProbes bool
	// ExecHooks, HTTPHooks: hooks that run a command, and hooks that send a request.
	ExecHooks, HTTPHooks bool
	// Deadlines: pods terminate at the end of their activeDeadlineSeconds.
	Deadlines bool
	// Hosts: the hosts file is written, and termination messages are read.
	Hosts bool
	// Logs: the runtime can read the logs of containers.
	Logs bool
	// Volumes returns the volumes and mounts of a pod that are not supported. Nil: the node has no
	// volumes.
	Volumes func(*v1.Pod) []Problem
	// VolumeFiles: variables can come from files in volumes.
	VolumeFiles bool
	// Runtime returns the optional features that the runtime has now. Nil: it has none.
	Runtime func() runtime.Features
	// Handlers are the runtime handlers by the name of their RuntimeClass.
	Handlers map[string]string
	// RuntimeClass finds the handler of a class that Handlers does not have. Nil: Handlers has all
	// classes.
	RuntimeClass func(class string) (handler string, known bool)
}

// Features returns what the Syncer supports now, from its Config and the features of the runtime.
// GRPCProbes is true if Probes is. The caller that made the prober corrects it. Deadlines is false,
// because the Syncer does not terminate pods itself. A caller whose sync loop does sets it.
func (s *Syncer) Features() Features {
	rt := s.runtimeFeatures()
	execs := rt.HandlerRunner != nil || rt.Execer != nil
	_, none := s.cfg.Probes.(noProbes)
	p := Features{
		Probes: !none, GRPCProbes: !none, ExecProbes: !none && execs,
		ExecHooks: execs, HTTPHooks: rt.HandlerRunner != nil || s.cfg.HTTP != nil,
		Hosts: s.cfg.Files != nil, Logs: rt.LogReader != nil, Handlers: s.cfg.Handlers, RuntimeClass: s.cfg.RuntimeClass,
		Runtime: s.runtimeFeaturesFunc,
	}
	if s.cfg.Volumes != nil {
		p.Volumes = s.volumeProblemsFunc
		p.VolumeFiles = s.cfg.Volumes.(interface{ isVolumeFileReader() bool }).isVolumeFileReader()
	}
	return p
}

// Unsupported lists the fields of a pod that a Syncer with these features does not honour. The fields
// in rejected change the meaning of the pod, so the pod must not run without them. The fields in
// ignored do not change what runs, and may cause a warning. Unsupported is pure except for the call of
// Runtime. It is called when a pod is admitted.
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
		Handlers: runtimeHandlersForPod(pod, features.Handlers, features.RuntimeClass),
	})
	return appendProblems(rejected, refused), appendProblems(nil, missed)
}

// runtimeHandlersForPod returns the map from RuntimeClass to runtime handler that applies to a pod. It returns
// the map configured as it is, unless that lacks the RuntimeClass of the pod and find knows it. Then it returns
// a map with only this class.
func runtimeHandlersForPod(pod *v1.Pod, configured map[string]string, find func(string) (string, bool)) map[string]string {
	class := pod.Spec.RuntimeClassName
	if class == nil || find == nil {
		return configured
	}
	if _, ok := configured[*class]; ok {
		return configured
	}
	if handler, known := find(*class); known {
		return map[string]string{*class: handler}
	}
	return configured
}

// appendProblems converts problems of package request and appends them to a list.
func appendProblems(list []Problem, problems []request.Problem) []Problem {
	for _, p := range problems {
		list = append(list, Problem(p))
	}
	return list
}
