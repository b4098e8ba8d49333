package podsync

import (
	"context"
	"encoding/json"
	"fmt"
	"path"
	"slices"
	"strings"

	"github.com/podkeel/podkeel/podmanager"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/request"
	"github.com/podkeel/podkeel/runtime"
)

// Additions are the parts of a container that come from the node and not from the spec of the pod, such as
// the files of a device. The zero value adds nothing.
type Additions struct {
	// Devices are device files. Two devices may not have one path in the container.
	Devices []runtime.Device
	// CDIDevices are the names of devices of the Container Device Interface, as "vendor.com/gpu=0".
	CDIDevices []string
	// Mounts are directories and files of the host. The path in the container may not be the path of
	// another mount. Images cannot be added.
	Mounts []runtime.Mount
	// Env are environment variables. A variable of the pod with the same name has precedence.
	Env []runtime.EnvVar
	// Annotations are annotations of the container in the runtime. None may exist already with another
	// value.
	Annotations map[string]string
}

// maxAdditionsBytes bounds the annotation that stores the Additions of a container, because a runtime
// lists all containers in one message.
const maxAdditionsBytes = 16 << 10

// additionsVersion is the version of the format in which Additions are stored.
const additionsVersion = 1

// storedAdditions are Additions as the annotation of a container record has them.
type storedAdditions struct {
	Version     int               `json:"version"`
	Devices     []storedDevice    `json:"devices,omitempty"`
	CDIDevices  []string          `json:"cdiDevices,omitempty"`
	Mounts      []storedMount     `json:"mounts,omitempty"`
	Env         []storedEnvVar    `json:"env,omitempty"`
	Annotations map[string]string `json:"annotations,omitempty"`
}

// storedDevice is one device of storedAdditions.
type storedDevice struct {
	HostPath      string `json:"hostPath"`
	ContainerPath string `json:"containerPath"`
	Permissions   string `json:"permissions,omitempty"`
}

// storedMount is one mount of storedAdditions.
type storedMount struct {
	HostPath          string `json:"hostPath"`
	ContainerPath     string `json:"containerPath"`
	ReadOnly          bool   `json:"readOnly,omitempty"`
	Propagation       uint8  `json:"propagation,omitempty"`
	RecursiveReadOnly uint8  `json:"recursiveReadOnly,omitempty"`
}

// storedEnvVar is one variable of storedAdditions.
type storedEnvVar struct {
	Name  string `json:"name"`
	Value string `json:"value"`
}

// addAdditions merges the Additions of the container into the request that creates it, and stores them in
// an annotation of the container. Without Config.Augment it does nothing. Config.Augment is called once for
// each container of an incarnation of a pod. Later attempts, and an agent that has restarted, use the stored
// Additions.
func (st *containerStart) addAdditions(ctx context.Context, req *runtime.CreateContainerRequest) error {
	if st.cfg.Augment == nil {
		return nil
	}
	additions, known := st.incarnation.additions[req.Name]
	if !known {
		additions, known = st.additionsFromRecords(req.Name)
	}
	if !known {
		var err error
		if additions, err = st.callAugment(ctx); err != nil {
			return err
		}
	}
	if err := mergeAdditions(req, additions); err != nil {
		return fmt.Errorf("the additions of the node: %w", err)
	}
	if st.incarnation.additions == nil {
		st.incarnation.additions = make(map[string]Additions)
	}
	st.incarnation.additions[req.Name] = additions
	return nil
}

// callAugment calls Config.Augment with the timeout Config.CallTimeout. A panic becomes an error.
func (st *containerStart) callAugment(ctx context.Context) (additions Additions, err error) {
	err = st.callWithTimeout(ctx, st.cfg.CallTimeout, func(ctx context.Context) (err error) {
		fault := st.guard.Call("Augment", func() { additions, err = st.cfg.Augment(ctx, st.pod, st.Container) })
		if fault != nil {
			return fault
		}
		return err
	})
	if err != nil {
		return Additions{}, fmt.Errorf("the additions of the node: %w", err)
	}
	return additions, nil
}

// additionsFromRecords returns the Additions that an earlier container of this name in the current incarnation
// of the pod has stored in an annotation. found is false if no container has them, and Config.Augment is then
// called. It logs Additions that cannot be read and ignores them.
func (st *containerStart) additionsFromRecords(name string) (additions Additions, found bool) {
	for i := range st.status.Containers {
		rec := &st.status.Containers[i]
		text, ok := rec.Annotations[request.AnnotationAdditions]
		if !ok || rec.Name != name || rec.Incarnation != st.incarnation.number {
			continue
		}
		additions, err := parseAdditions(text)
		if err == nil {
			return additions, true
		}
		st.cfg.Log.Warn("cannot read the stored additions of a container", "pod", podmanager.FullName(st.pod), "uid", st.pod.UID, "container", name, "err", err)
	}
	return Additions{}, false
}

// mergeAdditions adds the Additions to a request, together with the annotation that stores them. It returns
// an error, and leaves the request unchanged, if an addition is invalid or conflicts with the request or
// with another addition.
func mergeAdditions(req *runtime.CreateContainerRequest, a Additions) error {
	text, err := formatAdditions(a)
	if err != nil || text == "" {
		return err
	}
	if err := checkPaths(req, a); err != nil {
		return err
	}
	for i, name := range a.CDIDevices {
		if name == "" || slices.Contains(a.CDIDevices[:i], name) || slices.Contains(req.CDIDevices, name) {
			return fmt.Errorf("CDI device %q is empty or there twice", name)
		}
	}
	env, err := missingVariables(req.Env, a.Env)
	if err != nil {
		return err
	}
	for name, value := range a.Annotations {
		if old, exists := req.Annotations[name]; name == request.AnnotationAdditions || exists && old != value {
			return fmt.Errorf("annotation %q has another value already", name)
		}
	}
	req.Devices = slices.Concat(req.Devices, a.Devices)
	req.CDIDevices = slices.Concat(req.CDIDevices, a.CDIDevices)
	req.Mounts = slices.Concat(req.Mounts, a.Mounts)
	req.Env = slices.Concat(env, req.Env)
	for name, value := range a.Annotations {
		req.Annotations[name] = value
	}
	req.Annotations[request.AnnotationAdditions] = text
	return nil
}

// checkPaths checks the mounts and devices that were added to a container. It returns an error if a path is not
// absolute, if a mount has an image, or if two mounts or two devices have the same path in the container.
func checkPaths(req *runtime.CreateContainerRequest, a Additions) error {
	mounts, devices := map[string]bool{}, map[string]bool{}
	for _, m := range req.Mounts {
		mounts[path.Clean(m.ContainerPath)] = true
	}
	for _, d := range req.Devices {
		devices[path.Clean(d.ContainerPath)] = true
	}
	for _, m := range a.Mounts {
		if !path.IsAbs(m.ContainerPath) || !path.IsAbs(m.HostPath) || m.Image != "" {
			return fmt.Errorf("mount %q of %q is not a mount of a host path at an absolute path", m.ContainerPath, m.HostPath)
		}
		if at := path.Clean(m.ContainerPath); mounts[at] {
			return fmt.Errorf("the container has two mounts at %s", at)
		}
		mounts[path.Clean(m.ContainerPath)] = true
	}
	for _, d := range a.Devices {
		if !path.IsAbs(d.ContainerPath) || !path.IsAbs(d.HostPath) {
			return fmt.Errorf("device %q of %q has no absolute path", d.ContainerPath, d.HostPath)
		}
		if at := path.Clean(d.ContainerPath); devices[at] {
			return fmt.Errorf("the container has two devices at %s", at)
		}
		devices[path.Clean(d.ContainerPath)] = true
	}
	return nil
}

// missingVariables returns the added variables whose names the container does not have. It returns an error
// for an invalid name, and for a name that is added twice.
func missingVariables(env, added []runtime.EnvVar) (missing []runtime.EnvVar, err error) {
	for i, v := range added {
		hasName := func(other runtime.EnvVar) bool { return other.Name == v.Name }
		switch {
		case v.Name == "" || strings.ContainsAny(v.Name, "=\x00"):
			return nil, fmt.Errorf("variable %q has no valid name", v.Name)
		case slices.ContainsFunc(added[:i], hasName):
			return nil, fmt.Errorf("variable %s is there twice", v.Name)
		case !slices.ContainsFunc(env, hasName):
			missing = append(missing, v)
		}
	}
	return missing, nil
}

// formatAdditions returns the annotation that stores Additions, or "" if they add nothing. It returns an
// error if the annotation would be too long.
func formatAdditions(a Additions) (string, error) {
	s := storedAdditions{Version: additionsVersion, CDIDevices: a.CDIDevices, Annotations: a.Annotations}
	for _, d := range a.Devices {
		s.Devices = append(s.Devices, storedDevice(d))
	}
	for _, m := range a.Mounts {
		s.Mounts = append(s.Mounts, storedMount{m.HostPath, m.ContainerPath, m.ReadOnly, uint8(m.Propagation), uint8(m.RecursiveReadOnly)})
	}
	for _, v := range a.Env {
		s.Env = append(s.Env, storedEnvVar(v))
	}
	if len(s.Devices)+len(s.CDIDevices)+len(s.Mounts)+len(s.Env)+len(s.Annotations) == 0 {
		return "", nil
	}
	text, err := json.Marshal(s)
	if err == nil && len(text) > maxAdditionsBytes {
		err = fmt.Errorf("they have %d bytes and %d are allowed", len(text), maxAdditionsBytes)
	}
	return string(text), err
}

// parseAdditions returns the Additions that formatAdditions has written. It returns an error if text is no
// JSON, or has another version.
func parseAdditions(text string) (a Additions, err error) {
	var s storedAdditions
	if err := json.Unmarshal([]byte(text), &s); err != nil {
		return Additions{}, err
	}
	if s.Version != additionsVersion {
		return Additions{}, fmt.Errorf("version %d is not known", s.Version)
	}
	a = Additions{CDIDevices: s.CDIDevices, Annotations: s.Annotations}
	for _, d := range s.Devices {
		a.Devices = append(a.Devices, runtime.Device(d))
	}
	for _, m := range s.Mounts {
		a.Mounts = append(a.Mounts, runtime.Mount{
			HostPath: m.HostPath, ContainerPath: m.ContainerPath, ReadOnly: m.ReadOnly,
			Propagation: runtime.Propagation(m.Propagation), RecursiveReadOnly: runtime.RecursiveReadOnly(m.RecursiveReadOnly),
		})
	}
	for _, v := range s.Env {
		a.Env = append(a.Env, runtime.EnvVar(v))
	}
	return a, nil
}
