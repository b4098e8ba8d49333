package validation

import (
	"fmt"
	"maps"
	"path"
	"strings"

	v1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/podkeel/podkeel/internal/podspec"
)

// checkContainers checks that a pod has a container, and all its containers: each by itself, their names across
// all kinds, and the host ports of containers and sidecars for conflicts.
func (f *findings) checkContainers(spec *v1.PodSpec, volumes map[string]bool, at *field.Path) {
	if len(spec.Containers) == 0 {
		f.addRequired(at.Child("containers"), "expected at least one container")
	}
	names, ports := map[string]*field.Path{}, map[string]*field.Path{}
	for i := range spec.InitContainers {
		c, at := &spec.InitContainers[i], at.Child("initContainers").Index(i)
		f.checkContainerAndStoreName(c, volumes, names, at)
		f.checkOrdinaryInitContainer(c, at)
		if podspec.IsSidecar(c) {
			f.checkHostPorts(c, spec.HostNetwork, ports, at)
		}
	}
	for i := range spec.Containers {
		c, at := &spec.Containers[i], at.Child("containers").Index(i)
		f.checkContainerAndStoreName(c, volumes, names, at)
		f.checkRestartRules(c, at)
		f.checkHostPorts(c, spec.HostNetwork, ports, at)
	}
	targets := maps.Clone(names)
	for i := range spec.EphemeralContainers {
		f.checkEphemeralContainer(&spec.EphemeralContainers[i], targets, volumes, names, at.Child("ephemeralContainers").Index(i))
	}
}

// checkEphemeralContainer checks an ephemeral container. It adds an error for probes, hooks, ports, resources
// or a restart policy, and for a target container that targets (the other containers of the pod) does not have.
func (f *findings) checkEphemeralContainer(e *v1.EphemeralContainer, targets map[string]*field.Path, volumes map[string]bool, names map[string]*field.Path, at *field.Path) {
	c := v1.Container(e.EphemeralContainerCommon)
	f.checkContainerAndStoreName(&c, volumes, names, at)
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
			f.addForbidden(at.Child(field.name), "expected none in an ephemeral container")
		}
	}
	if e.TargetContainerName != "" && targets[e.TargetContainerName] == nil {
		pod := field.NewPath("spec")
		f.onlyIfRead(pod.Child("containers"), pod.Child("initContainers")).addNotFound(at.Child("targetContainerName"), e.TargetContainerName, "expected the name of a container of the pod")
	}
}

// checkContainerAndStoreName checks the fields that containers of all kinds have. volumes has the names of the
// pod's volumes. names has the path of the first container of each name; it adds the container's name to names.
func (f *findings) checkContainerAndStoreName(c *v1.Container, volumes map[string]bool, names map[string]*field.Path, at *field.Path) {
	f.requireName(at.Child("name"), c.Name, dnsLabelFormat)
	if first, ok := names[c.Name]; ok && c.Name != "" {
		f.addDuplicate(at.Child("name"), c.Name, "%s has the same name", first)
	} else {
		names[c.Name] = at
	}
	f.checkImage(at.Child("image"), c.Image)
	checkOneOf(f, at.Child("imagePullPolicy"), c.ImagePullPolicy, v1.PullAlways, v1.PullIfNotPresent, v1.PullNever)
	checkOneOf(f, at.Child("terminationMessagePolicy"), c.TerminationMessagePolicy, v1.TerminationMessageReadFile, v1.TerminationMessageFallbackToLogsOnError)
	f.checkPorts(c.Ports, at.Child("ports"))
	f.checkEnv(c.Env, at.Child("env"))
	f.checkMounts(c, volumes, at)
	f.checkResources(&c.Resources, at.Child("resources"))
	f.checkProbesAndHooks(c, at)
	f.checkSecurityContext(c.SecurityContext, at.Child("securityContext"))
}

// checkImage adds an error if the name of an image is empty or has spaces or control characters.
func (f *findings) checkImage(at *field.Path, image string) {
	if image == "" {
		f.addRequired(at, "expected the name of an image")
	} else if strings.ContainsFunc(image, func(r rune) bool { return r <= ' ' || r == 0x7F }) {
		f.addInvalid(at, image, "expected a name without spaces")
	}
}

// checkOrdinaryInitContainer checks the restart rules of an init container, and that it has no probes and
// hooks. A sidecar (an init container with restartPolicy Always) is not checked, because it may have them.
func (f *findings) checkOrdinaryInitContainer(c *v1.Container, at *field.Path) {
	if podspec.IsSidecar(c) {
		return
	}
	f.checkRestartRules(c, at)
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
			f.onlyIfRead(at.Child("restartPolicy")).addForbidden(at.Child(given.field), "expected none for an init container without restartPolicy Always")
		}
	}
}

// checkRestartRules checks the restart policy and the restart rules of one container. Rules need a policy.
func (f *findings) checkRestartRules(c *v1.Container, at *field.Path) {
	if c.RestartPolicy != nil {
		checkOneOf(f, at.Child("restartPolicy"), *c.RestartPolicy,
			v1.ContainerRestartPolicyAlways, v1.ContainerRestartPolicyOnFailure, v1.ContainerRestartPolicyNever)
	} else if len(c.RestartPolicyRules) > 0 {
		f.addRequired(at.Child("restartPolicy"), "expected one with restartPolicyRules")
	}
	for i, rule := range c.RestartPolicyRules {
		at := at.Child("restartPolicyRules").Index(i)
		checkOneOf(f, at.Child("action"), rule.Action, v1.ContainerRestartRuleActionRestart, v1.ContainerRestartRuleActionRestartAllContainers)
		if rule.ExitCodes == nil {
			f.addRequired(at.Child("exitCodes"), "expected the exit codes the rule is for")
			continue
		}
		checkOneOf(f, at.Child("exitCodes", "operator"), rule.ExitCodes.Operator,
			v1.ContainerRestartRuleOnExitCodesOpIn, v1.ContainerRestartRuleOnExitCodesOpNotIn)
		if rule.ExitCodes.Operator == v1.ContainerRestartRuleOnExitCodesOpIn && len(rule.ExitCodes.Values) == 0 {
			f.addWithoutValue(field.ErrorTypeRequired, at.Child("exitCodes", "values"), "none: the rule is for no exit code")
		}
	}
}

// checkPorts checks the numbers, protocols, host addresses and names of the ports of one container. The names
// must be unique in the container.
func (f *findings) checkPorts(ports []v1.ContainerPort, at *field.Path) {
	seen := map[string]int{}
	for i, p := range ports {
		at := at.Index(i)
		if p.ContainerPort < 1 || p.ContainerPort > 65535 {
			f.addInvalid(at.Child("containerPort"), p.ContainerPort, "expected 1 to 65535")
		}
		if p.HostPort < 0 || p.HostPort > 65535 {
			f.addInvalid(at.Child("hostPort"), p.HostPort, "expected 1 to 65535")
		}
		checkOneOf(f, at.Child("protocol"), p.Protocol, v1.ProtocolTCP, v1.ProtocolUDP, v1.ProtocolSCTP)
		if p.HostIP != "" {
			f.checkIP(at.Child("hostIP"), p.HostIP)
		}
		if p.Name == "" {
			continue
		}
		f.checkFormat(at.Child("name"), p.Name, portNameFormat)
		f.checkUniqueOrStoreName(at.Child("name"), p.Name, seen, i, "ports")
	}
}

// checkHostPorts adds an error for a host port that an earlier port of the pod uses with the same address and
// protocol, and, with hostNetwork, for one that differs from the container port. taken has the host ports so
// far; the container's are added to it.
func (f *findings) checkHostPorts(c *v1.Container, hostNetwork bool, taken map[string]*field.Path, at *field.Path) {
	for i, p := range c.Ports {
		ports := at.Child("ports")
		at := ports.Index(i).Child("hostPort")
		if p.HostPort == 0 {
			continue
		}
		if hostNetwork && p.HostPort != p.ContainerPort {
			needs := []*field.Path{ports.Index(i).Child("containerPort"), field.NewPath("spec", "hostNetwork")}
			f.onlyIfRead(needs...).addInvalid(at, p.HostPort, "expected %d, the container port, with hostNetwork", p.ContainerPort)
		}
		key := fmt.Sprint(p.HostIP, "/", p.Protocol, "/", p.HostPort)
		if first, ok := taken[key]; ok {
			f.addDuplicate(at, p.HostPort, "%s is the same port of the host", first)
			continue
		}
		taken[key] = at
	}
}

// checkEnv checks the names of the environment variables of one container. If a variable has valueFrom, that
// must have exactly one source, and the variable may have no value. It checks references to pod fields and
// resources, but not to other objects.
func (f *findings) checkEnv(env []v1.EnvVar, at *field.Path) {
	for i, e := range env {
		at := at.Index(i)
		f.requireName(at.Child("name"), e.Name, envNameFormat)
		if e.ValueFrom == nil {
			continue
		}
		from := at.Child("valueFrom")
		if e.Value != "" {
			f.addForbidden(from, "expected either value or valueFrom")
		}
		f.requireExactlyOne(from, "a source", map[string]bool{
			"fieldRef":         e.ValueFrom.FieldRef != nil,
			"resourceFieldRef": e.ValueFrom.ResourceFieldRef != nil,
			"configMapKeyRef":  e.ValueFrom.ConfigMapKeyRef != nil,
			"secretKeyRef":     e.ValueFrom.SecretKeyRef != nil,
			"fileKeyRef":       e.ValueFrom.FileKeyRef != nil,
		})
		f.checkFieldRef(e.ValueFrom.FieldRef, from.Child("fieldRef"), envDownwardFields)
		f.checkResourceFieldRef(e.ValueFrom.ResourceFieldRef, from.Child("resourceFieldRef"))
	}
}

// requireExactlyOne adds an error unless exactly one field is set. isSet has all names to choose from, each
// with whether it is set; what names the choice in the error.
func (f *findings) requireExactlyOne(at *field.Path, what string, isSet map[string]bool) {
	var set, all []string
	for _, name := range sortedKeys(isSet) {
		all = append(all, name)
		if isSet[name] {
			set = append(set, name)
		}
	}
	if len(all) == 0 {
		f.addWithoutValue(field.ErrorTypeRequired, at, "empty: expected %s", what)
	} else if len(set) == 0 {
		f.addWithoutValue(field.ErrorTypeRequired, at, "empty: expected %s, one of %s", what, strings.Join(all, ", "))
	} else if len(set) > 1 {
		f.addWithoutValue(field.ErrorTypeForbidden, at, "%s are set: expected one of them", strings.Join(set, " and "))
	}
}

// checkMounts checks the volume mounts and volume devices of one container: each needs a volume of the pod and
// a path. No two volume mounts may have the same path.
func (f *findings) checkMounts(c *v1.Container, volumes map[string]bool, at *field.Path) {
	paths := map[string]int{}
	for i, m := range c.VolumeMounts {
		at := at.Child("volumeMounts").Index(i)
		f.checkVolumeName(at.Child("name"), m.Name, volumes)
		if m.MountPath == "" {
			f.addRequired(at.Child("mountPath"), "expected a path in the container")
		} else if strings.Contains(m.MountPath, ":") {
			f.addInvalid(at.Child("mountPath"), m.MountPath, "expected a path without ':'")
		} else {
			if first, ok := paths[path.Clean(m.MountPath)]; ok {
				f.addDuplicate(at.Child("mountPath"), m.MountPath, "volumeMounts[%d] is mounted there", first)
			} else {
				paths[path.Clean(m.MountPath)] = i
			}
		}
		f.checkSubPath(at.Child("subPath"), m.SubPath)
		f.checkSubPath(at.Child("subPathExpr"), m.SubPathExpr)
		if m.SubPath != "" && m.SubPathExpr != "" {
			f.addForbidden(at.Child("subPathExpr"), "expected either subPath or subPathExpr")
		}
	}
	for i, d := range c.VolumeDevices {
		at := at.Child("volumeDevices").Index(i)
		f.checkVolumeName(at.Child("name"), d.Name, volumes)
		if d.DevicePath == "" {
			f.addRequired(at.Child("devicePath"), "expected a path in the container")
		}
	}
}

// checkVolumeName adds an error if name is empty or volumes, the names of the pod's volumes, does not have it.
func (f *findings) checkVolumeName(at *field.Path, name string, volumes map[string]bool) {
	if name == "" {
		f.addRequired(at, "expected the name of a volume")
	} else if !volumes[name] {
		f.onlyIfRead(field.NewPath("spec", "volumes")).addNotFound(at, name, "the pod has no volume of this name")
	}
}

// checkSubPath adds an error if a path is absolute or has an element "..", so that it could leave the volume.
// An empty path is allowed.
func (f *findings) checkSubPath(at *field.Path, sub string) {
	if sub == "" {
		return
	}
	if strings.HasPrefix(sub, "/") || hasParentElement(sub) {
		f.addInvalid(at, sub, "expected a relative path without '..'")
	}
}

// hasParentElement reports whether a path has an element "..". It treats '\' as '/', as on Windows.
func hasParentElement(p string) bool {
	for part := range strings.SplitSeq(strings.ReplaceAll(p, `\`, "/"), "/") {
		if part == ".." {
			return true
		}
	}
	return false
}

// checkSecurityContext checks the user, group and profiles in the security context of a container, and that a
// privileged container does not forbid privilege escalation.
func (f *findings) checkSecurityContext(s *v1.SecurityContext, at *field.Path) {
	if s == nil {
		return
	}
	checkAtLeastAndInt32(f, at.Child("runAsUser"), s.RunAsUser, 0)
	checkAtLeastAndInt32(f, at.Child("runAsGroup"), s.RunAsGroup, 0)
	f.checkProfiles(s.SeccompProfile, s.AppArmorProfile, at)
	if s.Privileged != nil && *s.Privileged && s.AllowPrivilegeEscalation != nil && !*s.AllowPrivilegeEscalation {
		f.onlyIfRead(at.Child("privileged")).addInvalid(at.Child("allowPrivilegeEscalation"), false, "expected true with privileged")
	}
}

// checkResources checks that quantities are valid and that requests do not exceed limits. Extended resources
// need a limit that equals the request; for huge pages, request and limit must be equal if both are set.
func (f *findings) checkResources(r *v1.ResourceRequirements, at *field.Path) {
	f.checkQuantities(r.Limits, at.Child("limits"))
	f.checkQuantities(r.Requests, at.Child("requests"))
	for _, name := range sortedKeys(r.Requests) {
		request := r.Requests[name]
		limit, ok := r.Limits[name]
		g, at := f.onlyIfRead(at.Child("limits").Key(string(name))), at.Child("requests").Key(string(name))
		if !ok {
			if !isNativeResource(name) {
				g.addInvalid(at, &request, "expected a limit of the same amount")
			}
		} else if request.Cmp(limit) > 0 {
			g.addInvalid(at, &request, "expected at most the limit, %s", limit.String())
		} else if (!isNativeResource(name) || isHugePages(name)) && request.Cmp(limit) != 0 {
			g.addInvalid(at, &request, "expected the same as the limit, %s", limit.String())
		}
	}
}

// checkQuantities checks the names of the resources in list, that quantities are not negative, and that all
// except cpu are whole numbers.
func (f *findings) checkQuantities(list v1.ResourceList, at *field.Path) {
	for _, name := range sortedKeys(list) {
		quantity, at := list[name], at.Key(string(name))
		f.checkResourceName(name, at)
		if quantity.Sign() < 0 {
			f.addInvalid(at, &quantity, "expected zero or more")
		}
		if whole := quantity.DeepCopy(); name != v1.ResourceCPU && !whole.RoundUp(0) {
			f.addInvalid(at, &quantity, "expected a whole number")
		}
	}
}

// checkResourceName adds an error if a resource name has a wrong format, or belongs to Kubernetes (see
// isNativeResource) and is not cpu, memory, ephemeral-storage or huge pages.
func (f *findings) checkResourceName(name v1.ResourceName, at *field.Path) {
	f.checkFormat(at, string(name), qualifiedNameFormat)
	if isNativeResource(name) && !isHugePages(name) && name != v1.ResourceCPU && name != v1.ResourceMemory && name != v1.ResourceEphemeralStorage {
		f.addWithoutValue(field.ErrorTypeNotSupported, at, "unknown resource: expected cpu, memory, ephemeral-storage, hugepages-... or a name with a domain")
	}
}

// isNativeResource reports whether a resource belongs to Kubernetes itself: its name has no domain or a domain
// of kubernetes.io. Other names are extended resources of device plugins.
func isNativeResource(name v1.ResourceName) bool {
	return !strings.Contains(string(name), "/") || strings.Contains(string(name), "kubernetes.io/")
}

// isHugePages reports whether a resource is huge pages of some size: its name begins with "hugepages-".
func isHugePages(name v1.ResourceName) bool {
	return strings.HasPrefix(string(name), v1.ResourceHugePagesPrefix)
}
