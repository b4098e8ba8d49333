package podtest

import (
	"cmp"
	"slices"
	"strings"
	"time"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"

	"github.com/podkeel/podkeel/runtime/memory"
)

// ContainerOption is an option of Container, InitContainer and Sidecar: a RunOption, Then, Image, Command, Requests or
// Limits.
type ContainerOption interface{ isContainerOption() }

// RunOption describes one start of a container. Each has the effect of a word of memory.ParseScript. The zero value changes nothing.
type RunOption struct{ edit func(*runState) }

// containerState is a container while its options are applied.
type containerState struct {
	*v1.Container
	builder *PodBuilder
	runs    []runState // the first is of the options outside of Then
}

// runState is one start of a container.
type runState struct {
	memory.Run
	isSet, hasFor, hasExit bool
	addFault               func(format string, args ...any) // of the builder
}

// containerOption is a ContainerOption that does not describe a start.
type containerOption struct{ edit func(*containerState) }

func (containerOption) isContainerOption() {}
func (RunOption) isContainerOption()       {}

// apply applies an option to the container or to its first start.
func (c *containerState) apply(o ContainerOption) {
	switch o := o.(type) {
	case RunOption:
		c.runs[0].apply(o)
	case containerOption:
		o.edit(c)
	}
}

// apply applies an option to a start.
func (r *runState) apply(o RunOption) {
	if o.edit != nil {
		r.isSet = true
		o.edit(r)
	}
}

// completeRun returns the start with the defaults of a script: without Runs it exits at once if it has an exit code,
// and else runs forever.
func (r *runState) completeRun() memory.Run {
	run := r.Run
	if !r.hasFor {
		run.Forever = !r.hasExit
	}
	run.Graceful = run.Forever && r.hasExit
	return run
}

// containerPlace is the place of a container in its pod. The list may move when it grows.
type containerPlace struct {
	list  *[]v1.Container
	index int
}

// get returns the container, or nil if the pod has none yet.
func (p containerPlace) get() *v1.Container {
	if p.list == nil {
		return nil
	}
	return &(*p.list)[p.index]
}

// Container adds a container. If the pod has a container of this name, the options apply to that one.
func (b *PodBuilder) Container(name string, options ...ContainerOption) *PodBuilder {
	for _, list := range []*[]v1.Container{&b.pod.Spec.InitContainers, &b.pod.Spec.Containers} {
		if i := slices.IndexFunc(*list, func(c v1.Container) bool { return c.Name == name }); i >= 0 {
			return b.applyContainerOptions(containerPlace{list, i}, options)
		}
	}
	return b.appendContainer(&b.pod.Spec.Containers, name, options)
}

// InitContainer adds an init container.
func (b *PodBuilder) InitContainer(name string, options ...ContainerOption) *PodBuilder {
	return b.appendContainer(&b.pod.Spec.InitContainers, name, options)
}

// Sidecar adds an init container with restart policy Always.
func (b *PodBuilder) Sidecar(name string, options ...ContainerOption) *PodBuilder {
	b.appendContainer(&b.pod.Spec.InitContainers, name, options)
	b.last.get().RestartPolicy = new(v1.ContainerRestartPolicyAlways)
	return b
}

func (b *PodBuilder) appendContainer(list *[]v1.Container, name string, options []ContainerOption) *PodBuilder {
	*list = append(*list, v1.Container{Name: name, Image: name + ":1"})
	return b.applyContainerOptions(containerPlace{list, len(*list) - 1}, options)
}

// applyContainerOptions applies the options to a container, and stores its script in the annotation of the in-memory
// runtime. A call without RunOption and Then leaves an existing script as it is.
func (b *PodBuilder) applyContainerOptions(place containerPlace, options []ContainerOption) *PodBuilder {
	b.last = place
	state := &containerState{Container: place.get(), builder: b, runs: []runState{{addFault: b.addFault}}}
	for _, o := range options {
		state.apply(o)
	}
	if len(state.runs) == 1 && !state.runs[0].isSet {
		return b
	}
	var script memory.Script
	for i := range state.runs {
		script.Runs = append(script.Runs, state.runs[i].completeRun())
	}
	b.pod.Annotations = setInMap(b.pod.Annotations, memory.AnnotationPrefix+state.Name, script.String())
	return b
}

// Then describes the next start of the container. Without options that start runs until it is stopped.
func Then(options ...RunOption) ContainerOption {
	return containerOption{func(c *containerState) {
		next := runState{addFault: c.builder.addFault}
		for _, o := range options {
			next.apply(o)
		}
		c.runs = append(c.runs, next)
	}}
}

// Runs makes the container run for d and then exit by itself.
func Runs(d time.Duration) RunOption {
	return RunOption{func(r *runState) { r.For, r.Forever, r.hasFor = d, false, true }}
}

// RunsForever makes the container run until it is stopped. With Exits, the container exits with that code after TERM
// instead of with 143.
func RunsForever() RunOption {
	return RunOption{func(r *runState) { r.For, r.Forever, r.hasFor = 0, true, true }}
}

// Exits sets the exit code of a container that exits by itself.
func Exits(code int32) RunOption {
	return RunOption{func(r *runState) { r.Exit, r.hasExit = code, true }}
}

// IsOOMKilled makes the container exit with code 137 and reason OOMKilled at once, or after Runs. See UsesMemory for a
// container whose memory grows until its limit.
func IsOOMKilled() RunOption {
	return RunOption{func(r *runState) { r.Exit, r.hasExit, r.Reason = 137, true, "OOMKilled" }}
}

// Message sets the termination message of a container that exits by itself.
func Message(text string) RunOption {
	return RunOption{func(r *runState) { r.Run.Message = text }}
}

// Prints adds a line to the log of the container, that long after its start.
func Prints(after time.Duration, text string) RunOption {
	return RunOption{func(r *runState) {
		r.Print = append(r.Print, memory.Line{After: after, Text: text})
		slices.SortStableFunc(r.Print, func(a, b memory.Line) int { return cmp.Compare(a.After, b.After) })
	}}
}

// Uses sets the resource usage of the container while it runs, such as "memory=64Mi,cpu=250m,disk=1Gi". The resources
// are cpu, memory, disk, receive and transmit, with the meaning of these words in a script: see memory.ParseScript. A
// resource that Uses does not name has the default of package memory. A memory limit bounds the memory.
func Uses(resources string) RunOption {
	return RunOption{func(r *runState) { r.parseUsage(resources) }}
}

// UsesMemory sets the memory of the container from that time after its start, such as "1Gi". If the memory is above the
// memory limit of the container, the container is killed: it exits with code 137 and reason OOMKilled. Without a
// limit the container runs on. Each call adds a change.
func UsesMemory(after time.Duration, amount string) RunOption {
	return RunOption{func(r *runState) {
		quantity, err := resource.ParseQuantity(amount)
		if err != nil || quantity.Sign() <= 0 || after < 0 {
			r.addFault("UsesMemory(%s, %q): expected a time of zero or more, and an amount as 64Mi", after, amount)
			return
		}
		r.Memory = append(r.Memory, memory.MemoryChange{After: after, Bytes: quantity.Value()})
		slices.SortStableFunc(r.Memory, func(a, b memory.MemoryChange) int { return cmp.Compare(a.After, b.After) })
	}}
}

// parseUsage sets the usage from a list such as memory=64Mi,cpu=250m. It adds a fault if a word of the list is not a
// resource usage of a script.
func (r *runState) parseUsage(list string) {
	script, err := memory.ParseScript(strings.ReplaceAll(list, ",", " "))
	if err != nil || len(script.Runs) != 1 || script.Runs[0].String() != (memory.Run{Forever: true, Usage: script.Runs[0].Usage}).String() {
		r.addFault("Uses(%q): expected cpu, memory, disk, receive or transmit, as memory=64Mi,cpu=250m", list)
		return
	}
	r.Usage = script.Runs[0].Usage
}

// StartsAfter makes the start of the container take d.
func StartsAfter(d time.Duration) RunOption {
	return RunOption{func(r *runState) { r.StartDelay = d }}
}

// IgnoresTERM makes the container ignore TERM, so that only the end of the grace period stops it early.
func IgnoresTERM() RunOption {
	return RunOption{func(r *runState) { r.IgnoreTerm = true }}
}

// FailsToPull makes the image of the container missing, and its pull fail.
func FailsToPull() RunOption { return RunOption{func(r *runState) { r.Fail = memory.FailImage }} }

// FailsToCreate makes the creation of the container fail.
func FailsToCreate() RunOption { return RunOption{func(r *runState) { r.Fail = memory.FailCreate }} }

// FailsToStart makes the start of the container fail, with exit code 128.
func FailsToStart() RunOption { return RunOption{func(r *runState) { r.Fail = memory.FailStart }} }

// Image sets the image.
func Image(image string) ContainerOption {
	return containerOption{func(c *containerState) { c.Container.Image = image }}
}

// Command sets the command.
func Command(command ...string) ContainerOption {
	return containerOption{func(c *containerState) { c.Container.Command = command }}
}

// Requests sets the resource requests, such as "cpu=100m,memory=64Mi".
func Requests(resources string) ContainerOption {
	return containerOption{func(c *containerState) {
		c.Resources.Requests = c.builder.parseResources("Requests", resources)
	}}
}

// Limits sets the resource limits, such as "cpu=100m,memory=64Mi".
func Limits(resources string) ContainerOption {
	return containerOption{func(c *containerState) { c.Resources.Limits = c.builder.parseResources("Limits", resources) }}
}

// parseResources parses a list of resources. It adds a fault if the list is malformed.
func (b *PodBuilder) parseResources(what, text string) v1.ResourceList {
	list := v1.ResourceList{}
	for word := range strings.SplitSeq(text, ",") {
		name, value, _ := strings.Cut(word, "=")
		quantity, err := resource.ParseQuantity(value)
		if err != nil || name == "" {
			b.addFault("%s(%q): %q is not a resource as cpu=100m or memory=64Mi", what, text, word)
			continue
		}
		list[v1.ResourceName(name)] = quantity
	}
	return list
}
