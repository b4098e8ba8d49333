package runtimetest

import (
	"reflect"

	"github.com/podkeel/podkeel/runtime"
)

// echoedField is a field of a record that has the value of a field of the request that created the
// record. The comments in package runtime mark these fields with "echoes"; a test compares the two
// lists.
type echoedField[Record, Request any] struct {
	field        string // such as "Sandbox.Attempt"
	requestField string // such as "RunSandboxRequest.Attempt"
	recordValue  func(*Record) any
	requestValue func(*Request) any
}

// podEchoes are the echoed fields of a PodStatus. A Pod has the same fields.
var podEchoes = []echoedField[runtime.PodStatus, runtime.PodRef]{
	{"UID", "PodRef.UID", func(p *runtime.PodStatus) any { return p.UID }, func(r *runtime.PodRef) any { return r.UID }},
	{"Name", "PodRef.Name", func(p *runtime.PodStatus) any { return p.Name }, func(r *runtime.PodRef) any { return r.Name }},
	{"Namespace", "PodRef.Namespace", func(p *runtime.PodStatus) any { return p.Namespace }, func(r *runtime.PodRef) any { return r.Namespace }},
}

var sandboxEchoes = []echoedField[runtime.Sandbox, runtime.RunSandboxRequest]{
	{"Sandbox.Attempt", "RunSandboxRequest.Attempt", func(s *runtime.Sandbox) any { return s.Attempt }, func(r *runtime.RunSandboxRequest) any { return r.Attempt }},
	{"Sandbox.Incarnation", "PodRef.Incarnation", func(s *runtime.Sandbox) any { return s.Incarnation }, func(r *runtime.RunSandboxRequest) any { return r.Pod.Incarnation }},
	{"Sandbox.Annotations", "RunSandboxRequest.Annotations", func(s *runtime.Sandbox) any { return s.Annotations }, func(r *runtime.RunSandboxRequest) any { return r.Annotations }},
}

var sandboxStatusEchoes = []echoedField[runtime.SandboxStatus, runtime.RunSandboxRequest]{
	{"SandboxStatus.HostNetwork", "Namespaces.HostNetwork", func(s *runtime.SandboxStatus) any { return s.HostNetwork }, func(r *runtime.RunSandboxRequest) any { return r.Namespaces.HostNetwork }},
}

var containerEchoes = []echoedField[runtime.Container, runtime.CreateContainerRequest]{
	{"Container.Name", "CreateContainerRequest.Name", func(c *runtime.Container) any { return c.Name }, func(r *runtime.CreateContainerRequest) any { return r.Name }},
	{"Container.SandboxID", "CreateContainerRequest.SandboxID", func(c *runtime.Container) any { return c.SandboxID }, func(r *runtime.CreateContainerRequest) any { return r.SandboxID }},
	{"Container.Attempt", "CreateContainerRequest.Attempt", func(c *runtime.Container) any { return c.Attempt }, func(r *runtime.CreateContainerRequest) any { return r.Attempt }},
	{"Container.Incarnation", "PodRef.Incarnation", func(c *runtime.Container) any { return c.Incarnation }, func(r *runtime.CreateContainerRequest) any { return r.Pod.Incarnation }},
}

var containerStatusEchoes = []echoedField[runtime.ContainerStatus, runtime.CreateContainerRequest]{
	{"ContainerStatus.Image", "CreateContainerRequest.Image", func(c *runtime.ContainerStatus) any { return c.Image }, func(r *runtime.CreateContainerRequest) any { return r.Image }},
	{"ContainerStatus.Annotations", "CreateContainerRequest.Annotations", func(c *runtime.ContainerStatus) any { return c.Annotations }, func(r *runtime.CreateContainerRequest) any { return r.Annotations }},
}

// requireEchoes fails the case if a field of the runtime's result differs from the field of the request that it
// must repeat. Annotations in the result may have more entries than the request.
func requireEchoes[Record, Request any](b *bench, echoes []echoedField[Record, Request], record *Record, request *Request) {
	b.Helper()
	for _, e := range echoes {
		got, want := e.recordValue(record), e.requestValue(request)
		if annotations, ok := want.(map[string]string); ok {
			given, _ := got.(map[string]string)
			b.Check(containsAll(given, annotations), "%s is %v, but %s of the request is %v", e.field, got, e.requestField, want)
			continue
		}
		b.Check(reflect.DeepEqual(got, want), "%s is %v, but %s of the request is %v", e.field, got, e.requestField, want)
	}
}
