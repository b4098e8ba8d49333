package manifest

import (
	"fmt"
	"path"
	"slices"
	"strings"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/containers"
)

// containers checks all containers of a pod, and what they must not share.
func (f *findings) containers(spec *v1.PodSpec, volumes map[string]bool, at *fieldPath) {
	if len(spec.Containers) == 0 {
		f.add(at.field("containers"), "missing: expected at least one container")
	}
	names, ports := map[string]*fieldPath{}, map[string]*fieldPath{}
	for i := range spec.InitContainers {
		c, at := &spec.InitContainers[i], at.field("initContainers").at(i)
		f.container(c, volumes, names, at)
		f.initContainer(c, at)
		if containers.IsSidecar(c) {
			f.hostPorts(c, spec.HostNetwork, ports, at)
		}
	}
	for i := range spec.Containers {
		c, at := &spec.Containers[i], at.field("containers").at(i)
		f.container(c, volumes, names, at)
		f.restartRules(c, at)
		f.hostPorts(c, spec.HostNetwork, ports, at)
	}
	for i := range spec.EphemeralContainers {
		f.ephemeralContainer(&spec.EphemeralContainers[i], spec, volumes, names, at.field("ephemeralContainers").at(i))
	}
}

// ephemeralContainer checks a container that was added to a running pod: one for
// people to look around with, of which nobody asks whether it is well.
func (f *findings) ephemeralContainer(e *v1.EphemeralContainer, spec *v1.PodSpec, volumes map[string]bool, names map[string]*fieldPath, at *fieldPath) {
	c := v1.Container(e.EphemeralContainerCommon)
	f.container(&c, volumes, names, at)
	for _, field := range []struct {
		name string
		set  bool
	}{
		{"livenessProbe", c.LivenessProbe != nil},
		{"readinessProbe", c.ReadinessProbe != nil},
		{"startupProbe", c.StartupProbe != nil},
		{"lifecycle", c.Lifecycle != nil},
		{"ports", len(c.Ports) > 0},
		{"resources", len(c.Resources.Limits)+len(c.Resources.Requests) > 0},
		{"restartPolicy", c.RestartPolicy != nil},
	} {
		if field.set {
			f.add(at.field(field.name), "set: expected none in an ephemeral container")
		}
	}
	isTarget := func(c v1.Container) bool { return c.Name == e.TargetContainerName }
	if e.TargetContainerName != "" && !slices.ContainsFunc(spec.Containers, isTarget) && !slices.ContainsFunc(spec.InitContainers, isTarget) {
		f.add(at.field("targetContainerName"), "%s: expected the name of a container of the pod", quote(e.TargetContainerName))
	}
}

func (f *findings) container(c *v1.Container, volumes map[string]bool, names map[string]*fieldPath, at *fieldPath) {
	f.named(at.field("name"), c.Name, dnsLabel)
	if first, ok := names[c.Name]; ok && c.Name != "" {
		f.add(at.field("name"), "%s: %s has the same name", quote(c.Name), first)
	} else {
		names[c.Name] = at
	}
	f.image(at.field("image"), c.Image)
	oneOf(f, at.field("imagePullPolicy"), c.ImagePullPolicy, v1.PullAlways, v1.PullIfNotPresent, v1.PullNever)
	oneOf(f, at.field("terminationMessagePolicy"), c.TerminationMessagePolicy, v1.TerminationMessageReadFile, v1.TerminationMessageFallbackToLogsOnError)
	f.ports(c.Ports, at.field("ports"))
	f.env(c.Env, at.field("env"))
	f.mounts(c, volumes, at)
	f.resources(&c.Resources, at.field("resources"))
	f.probes(c, at)
	f.security(c.SecurityContext, at.field("securityContext"))
}

func (f *findings) image(at *fieldPath, image string) {
	switch {
	case image == "":
		f.add(at, "missing: expected the name of an image")
	case strings.ContainsFunc(image, func(r rune) bool { return r <= ' ' || r == 0x7F }):
		f.add(at, "%s: expected a name without spaces", quote(image))
	}
}

// initContainer checks what only containers that run on may have.
func (f *findings) initContainer(c *v1.Container, at *fieldPath) {
	if containers.IsSidecar(c) {
		return
	}
	f.restartRules(c, at)
	for _, given := range []struct {
		field string
		is    bool
	}{
		{"livenessProbe", c.LivenessProbe != nil},
		{"readinessProbe", c.ReadinessProbe != nil},
		{"startupProbe", c.StartupProbe != nil},
		{"lifecycle", c.Lifecycle != nil},
	} {
		if given.is {
			f.add(at.field(given.field), "set: expected none for an init container without restartPolicy Always")
		}
	}
}

// restartRules checks the restart policy of one container and its rules.
func (f *findings) restartRules(c *v1.Container, at *fieldPath) {
	if c.RestartPolicy != nil {
		oneOf(f, at.field("restartPolicy"), *c.RestartPolicy,
			v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyOnFailure, v1.ContainerRestartPolicyNever)
	} else if len(c.RestartPolicyRules) > 0 {
		f.add(at.field("restartPolicy"), "missing: expected one with restartPolicyRules")
	}
	for i, rule := range c.RestartPolicyRules {
		at := at.field("restartPolicyRules").at(i)
		oneOf(f, at.field("action"), rule.Action, v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers)
		if rule.ExitCodes == nil {
			f.add(at.field("exitCodes"), "missing: expected the exit codes the rule is for")
			continue
		}
		oneOf(f, at.fields("exitCodes", "operator"), rule.ExitCodes.Operator,
			v1.ContainerRestartRuleOnExitCodesOpIn, v1.ContainerRestartRuleOnExitCodesOpNotIn)
		if rule.ExitCodes.Operator == v1.ContainerRestartRuleOnExitCodesOpIn && len(rule.ExitCodes.Values) == 0 {
			f.add(at.fields("exitCodes", "values"), "none: the rule is for no exit code")
		}
	}
}

func (f *findings) ports(ports []v1.ContainerPort, at *fieldPath) {
	seen := map[string]int{}
	for i, p := range ports {
		at := at.at(i)
		if p.ContainerPort < 1 || p.ContainerPort > 65535 {
			f.add(at.field("containerPort"), "%d: expected 1 to 65535", p.ContainerPort)
		}
		if p.HostPort < 0 || p.HostPort > 65535 {
			f.add(at.field("hostPort"), "%d: expected 1 to 65535", p.HostPort)
		}
		oneOf(f, at.field("protocol"), p.Protocol, v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP)
		if p.HostIP != "" {
			f.ip(at.field("hostIP"), p.HostIP)
		}
		if p.Name == "" {
			continue
		}
		f.keeps(at.field("name"), p.Name, portName)
		f.unique(at.field("name"), p.Name, seen, i, "ports")
	}
}

// hostPorts checks that no two ports of a pod want the same port of the host.
func (f *findings) hostPorts(c *v1.Container, hostNetwork bool, taken map[string]*fieldPath, at *fieldPath) {
	for i, p := range c.Ports {
		at := at.field("ports").at(i).field("hostPort")
		if p.HostPort == 0 {
			continue
		}
		if hostNetwork && p.HostPort != p.ContainerPort {
			f.add(at, "%d: expected %d, the container port, with hostNetwork", p.HostPort, p.ContainerPort)
		}
		key := fmt.Sprint(p.HostIP, "/", p.Protocol, "/", p.HostPort)
		if first, ok := taken[key]; ok {
			f.add(at, "%d: %s is the same port of the host", p.HostPort, first)
			continue
		}
		taken[key] = at
	}
}

func (f *findings) env(env []v1.EnvVar, at *fieldPath) {
	for i, e := range env {
		at := at.at(i)
		f.named(at.field("name"), e.Name, envName)
		if e.ValueFrom == nil {
			continue
		}
		from := at.field("valueFrom")
		if e.Value != "" {
			f.add(from, "set: expected either value or valueFrom")
		}
		f.exactlyOne(from, "a source", map[string]bool{
			"fieldRef":         e.ValueFrom.FieldRef != nil,
			"resourceFieldRef": e.ValueFrom.ResourceFieldRef != nil,
			"configMapKeyRef":  e.ValueFrom.ConfigMapKeyRef != nil,
			"secretKeyRef":     e.ValueFrom.SecretKeyRef != nil,
			"fileKeyRef":       e.ValueFrom.FileKeyRef != nil,
		})
		f.fieldRef(e.ValueFrom.FieldRef, from.field("fieldRef"), envFields)
		f.resourceFieldRef(e.ValueFrom.ResourceFieldRef, from.field("resourceFieldRef"))
	}
}

// exactlyOne wants one of the named fields set.
func (f *findings) exactlyOne(at *fieldPath, what string, given map[string]bool) {
	var set, all []string
	for _, name := range sortedKeys(given) {
		all = append(all, name)
		if given[name] {
			set = append(set, name)
		}
	}
	switch {
	case len(all) == 0:
		f.add(at, "empty: expected %s", what)
	case len(set) == 0:
		f.add(at, "empty: expected %s, one of %s", what, strings.Join(all, ", "))
	case len(set) > 1:
		f.add(at, "%s are set: expected one of them", strings.Join(set, " and "))
	}
}

func (f *findings) mounts(c *v1.Container, volumes map[string]bool, at *fieldPath) {
	paths := map[string]int{}
	for i, m := range c.VolumeMounts {
		at := at.field("volumeMounts").at(i)
		f.volumeName(at.field("name"), m.Name, volumes)
		switch {
		case m.MountPath == "":
			f.add(at.field("mountPath"), "missing: expected a path in the container")
		case strings.Contains(m.MountPath, ":"):
			f.add(at.field("mountPath"), "%s: expected a path without ':'", quote(m.MountPath))
		default:
			if first, ok := paths[path.Clean(m.MountPath)]; ok {
				f.add(at.field("mountPath"), "%s: volumeMounts[%d] is mounted there", quote(m.MountPath), first)
			} else {
				paths[path.Clean(m.MountPath)] = i
			}
		}
		f.subPath(at.field("subPath"), m.SubPath)
		f.subPath(at.field("subPathExpr"), m.SubPathExpr)
		if m.SubPath != "" && m.SubPathExpr != "" {
			f.add(at.field("subPathExpr"), "set: expected either subPath or subPathExpr")
		}
	}
	for i, d := range c.VolumeDevices {
		at := at.field("volumeDevices").at(i)
		f.volumeName(at.field("name"), d.Name, volumes)
		if d.DevicePath == "" {
			f.add(at.field("devicePath"), "missing: expected a path in the container")
		}
	}
}

func (f *findings) volumeName(at *fieldPath, name string, volumes map[string]bool) {
	switch {
	case name == "":
		f.add(at, "missing: expected the name of a volume")
	case !volumes[name]:
		f.add(at, "%s: the pod has no volume of this name", quote(name))
	}
}

// subPath must stay within the volume (F28).
func (f *findings) subPath(at *fieldPath, sub string) {
	if sub == "" {
		return
	}
	if strings.HasPrefix(sub, "/") || upwards(sub) {
		f.add(at, "%s: expected a relative path without '..'", quote(sub))
	}
}

func upwards(p string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(p, `\`, "/"), "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

func (f *findings) security(s *v1.SecurityContext, at *fieldPath) {
	if s == nil {
		return
	}
	within(f, at.field("runAsUser"), s.RunAsUser, 0)
	within(f, at.field("runAsGroup"), s.RunAsGroup, 0)
	f.profiles(s.SeccompProfile, s.AppArmorProfile, at)
	if s.Privileged != nil && *s.Privileged && s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation {
		f.add(at.field("allowPrivilegeEscalation"), "false: expected true with privileged")
	}
}
