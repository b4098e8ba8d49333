package volumes

import (
	"cmp"
	"errors"
	"fmt"
	"path/filepath"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/podworkers/podsync"
)

// Config is what a Dir is made of. Root is required; the zero value of
// everything else is its default.
type Config struct {
	// Root is the directory of the agent, an absolute path. It is made if need
	// be. Only the agent may write to it, or to what is above it.
	Root string
	// Objects finds ConfigMaps and Secrets. Nil: there are none.
	Objects podsync.Objects
	// Tokens gets tokens of service accounts. Nil: pods with volumes that need some are
	// rejected.
	Tokens podsync.Tokens
	// Claims finds the volumes of claims. Nil: pods with such volumes are rejected.
	Claims podsync.Claims
	// Allocatable is what the node has for pods, for files that tell of it; its
	// memory bounds volumes in memory.
	Allocatable v1.ResourceList
	// SecretsInMemory mounts a tmpfs for each secret, projected and downwardAPI volume, so that
	// their files are never on a disk. It needs Linux and root. The runtime must see the mounts
	// of this process: an agent with a mount namespace of its own needs shared propagation for
	// Root. A volume that has files already stays as it is. False: the files are on the file
	// system of Root.
	SecretsInMemory bool
	// HostsFile is the hosts file of the node, which pods get that use its
	// network. Default "/etc/hosts".
	HostsFile string
}

func (c *Config) complete() error {
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
