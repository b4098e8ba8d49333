package volumes

import (
	"bytes"
	"fmt"
	"io"
	"os"

	v1 "k8s.io/api/core/v1"

	"github.com/podkeel/podkeel/internal/osfile"
	"github.com/podkeel/podkeel/podworkers/podsync/internal/volume"
)

// maxHosts bounds the hosts file of the node, in bytes.
const maxHosts = 1 << 20

// Hosts implements podsync.Files. It writes the file in place, so that containers that have mounted it
// see the changes.
func (d *Dir) Hosts(pod *v1.Pod, ips, hostNames []string) (string, error) {
	var host []byte
	if pod.Spec.HostNetwork {
		var err error
		if host, err = readNodeHosts(d.cfg.HostsFile); err != nil {
			return "", fmt.Errorf("volumes: the hosts file of the node: %w", err)
		}
	}
	text, err := volume.HostsFile(pod, ips, hostNames, host)
	if err == nil {
		err = d.writeHostsFile(pod, text)
	}
	if err != nil {
		return "", fmt.Errorf("volumes: %w", err)
	}
	return d.podPath(pod.UID, hostsFile), nil
}

// readNodeHosts returns the content of the node's hosts file, or nil if the file does not exist. A file with
// more than maxHosts bytes is an error.
func readNodeHosts(path string) ([]byte, error) {
	f, err := osfile.OpenPath(path)
	if os.IsNotExist(err) {
		return nil, nil
	}
	if err != nil {
		return nil, err
	}
	defer f.Close()
	text, err := io.ReadAll(io.LimitReader(f, maxHosts+1))
	if err == nil && len(text) > maxHosts {
		err = fmt.Errorf("%s has more than %d bytes", path, maxHosts)
	}
	return text, err
}

// writeHostsFile writes the hosts file of a pod if its content has changed, and makes it readable for
// everybody. It creates the directory of the pod if it is missing, and may replace the directory of a former
// pod with this UID.
func (d *Dir) writeHostsFile(pod *v1.Pod, text []byte) error {
	allowed, err := d.mayDiscard(pod)
	if err != nil {
		return err
	}
	defer d.locks.Lock(pod.UID)()
	dir, _, err := d.openOrMakePodDir(pod, allowed)
	if err != nil {
		return err
	}
	defer dir.Close()
	f, err := osfile.OpenFile(dir, hostsFile, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return err
	}
	defer f.Close()
	const everybodyReads = 0o644
	if err := f.Chmod(everybodyReads); err != nil {
		return err
	}
	old, err := io.ReadAll(io.LimitReader(f, int64(len(text))+1))
	if err != nil || bytes.Equal(old, text) {
		return err
	}
	if err := f.Truncate(0); err != nil {
		return err
	}
	_, err = f.WriteAt(text, 0)
	return err
}
