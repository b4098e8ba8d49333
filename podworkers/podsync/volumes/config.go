package volumes

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
)

// Config has the parts and the settings of a Dir. Root is required. The zero value of every other field
// is its default.
type Config struct {
	// Root is the directory of the agent, an absolute path. It is created if necessary. Only the agent
	// may write to it and to the directories above it.
	Root string
	// Objects finds ConfigMaps and Secrets. Nil: no object exists.
	Objects podsync.Objects
	// Tokens returns service account tokens. Nil: pods with volumes that need a token are rejected.
	Tokens podsync.Tokens
	// Claims finds the volumes of claims. Nil: pods with such volumes are rejected.
	Claims podsync.Claims
	// Allocatable has the resources that the node has for pods. Downward API files show them, and the
	// memory bounds volumes in memory.
	Allocatable v1.ResourceList
	// SecretsInMemory mounts a tmpfs for each secret, projected and downwardAPI volume, so that their
	// files are never on a disk. It needs Linux and root. The runtime must see the mounts of this
	// process: an agent with a mount namespace of its own needs shared propagation for Root. A volume
	// that has files already stays as it is. False: the files are on the file system of Root.
	SecretsInMemory bool
	// HostsFile is the hosts file of the node, for pods in the host network. Default "/etc/hosts".
	HostsFile string
}

// setDefaultsAndValidate sets the default of HostsFile, and returns an error that lists each path in the Config
// that is not absolute.
func (c *Config) setDefaultsAndValidate() error {
	var faults []error
	if !filepath.IsAbs(c.Root) {
		faults = append(faults, fmt.Errorf("Root is no absolute path: %q", c.Root))
	}
	c.HostsFile = cmp.Or(c.HostsFile, "/etc/hosts")
	if !filepath.IsAbs(c.HostsFile) {
		faults = append(faults, fmt.Errorf("HostsFile is no absolute path: %q", c.HostsFile))
	}
	if len(faults) > 0 {
		return fmt.Errorf("volumes: invalid config: %w", errors.Join(faults...))
	}
	return nil
}
