package convert

import (
	cri "k8s.io/cri-api/pkg/apis/runtime/v1"

	"github.com/podkeel/podkeel/runtime"
)

// sandboxSecurity has what CRI takes for a sandbox as a whole: capabilities,
// paths and privileges to come are matters of containers.
func sandboxSecurity(s *runtime.Security, n runtime.Namespaces) *cri.LinuxSandboxSecurityContext {
	return &cri.LinuxSandboxSecurityContext{
		NamespaceOptions:   namespaces(n),
		SelinuxOptions:     seLinux(s.SELinux),
		RunAsUser:          id(s.User),
		RunAsGroup:         id(s.Group),
		ReadonlyRootfs:     s.ReadOnlyRoot,
		SupplementalGroups: s.SupplementalGroups,
		Privileged:         s.Privileged,
		Seccomp:            profile(s.Seccomp),
		Apparmor:           profile(s.AppArmor),
	}
}

func containerSecurity(s *runtime.Security, n runtime.Namespaces) *cri.LinuxContainerSecurityContext {
	out := &cri.LinuxContainerSecurityContext{
		Privileged:         s.Privileged,
		NamespaceOptions:   namespaces(n),
		SelinuxOptions:     seLinux(s.SELinux),
		RunAsUser:          id(s.User),
		RunAsGroup:         id(s.Group),
		RunAsUsername:      s.Username,
		ReadonlyRootfs:     s.ReadOnlyRoot,
		SupplementalGroups: s.SupplementalGroups,
		NoNewPrivs:         s.NoNewPrivileges,
		MaskedPaths:        s.MaskedPaths,
		ReadonlyPaths:      s.ReadOnlyPaths,
		Seccomp:            profile(s.Seccomp),
		Apparmor:           profile(s.AppArmor),
	}
	if len(s.AddCapabilities)+len(s.DropCapabilities) > 0 {
		out.Capabilities = &cri.Capability{AddCapabilities: s.AddCapabilities, DropCapabilities: s.DropCapabilities}
	}
	return out
}

func id(n *int64) *cri.Int64Value {
	if n == nil {
		return nil
	}
	return &cri.Int64Value{Value: *n}
}

func seLinux(s *runtime.SELinux) *cri.SELinuxOption {
	if s == nil {
		return nil
	}
	return &cri.SELinuxOption{User: s.User, Role: s.Role, Type: s.Type, Level: s.Level}
}

// profile is nil where nothing is asked for, which leaves it to the runtime. One
// of a type that is not known here is the runtime's own, never none.
func profile(p runtime.Profile) *cri.SecurityProfile {
	switch p.Type {
	case "":
		return nil
	case "Unconfined":
		return &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Unconfined}
	case "Localhost":
		return &cri.SecurityProfile{ProfileType: cri.SecurityProfile_Localhost, LocalhostRef: p.Path}
	}
	return &cri.SecurityProfile{ProfileType: cri.SecurityProfile_RuntimeDefault}
}
