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
	// SecretsInMemory has the files of each secret, projected and downwardAPI volume in a
	// tmpfs, so that they are never on a disk. It needs Linux, root, and a mount namespace
	// whose mounts the runtime sees, which one of an agent's own is not by default. Volumes
	// that have files already stay as they are. False: they are below Root.
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
