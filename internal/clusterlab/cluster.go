package clusterlab

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/rsa"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"time"

	v1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"
)

// Config configures a cluster.
type Config struct {
	// Nodes are the names of nodes that get credentials.
	Nodes []string
	// Controllers are the controllers that kube-controller-manager runs; nil: it does not run.
	Controllers []string
	// Scheduler runs kube-scheduler.
	Scheduler bool
}

// Cluster is a running control plane.
type Cluster struct {
	bin, dir   string
	config     Config
	etcdPort   int
	peerPort   int
	port       int
	dirRemover *dirRemover
	etcd       *process
	server     *process
	components []*process
}

// startLimit bounds the start of a program, which takes 3 s on an idle machine.
const startLimit = 3 * time.Minute

// Start builds the programs and runs a control plane until Stop.
func Start(ctx context.Context, config Config) (*Cluster, error) {
	programs := []string{"etcd", "kube-apiserver"}
	if config.Scheduler {
		programs = append(programs, "kube-scheduler")
	}
	if config.Controllers != nil {
		programs = append(programs, "kube-controller-manager")
	}
	bin, err := Build(ctx, programs...)
	if err != nil {
		return nil, err
	}
	c := &Cluster{bin: bin, config: config}
	if err := c.startControlPlane(ctx); err != nil {
		return nil, fmt.Errorf("clusterlab: %w", errors.Join(err, c.Stop()))
	}
	return c, nil
}

// startControlPlane creates the directory and the secrets, starts etcd and kube-apiserver, creates the objects
// that pods need, and starts the other components of the Config.
func (c *Cluster) startControlPlane(ctx context.Context) (err error) {
	if c.dir, err = os.MkdirTemp("", "podkeel-clusterlab-"); err != nil {
		return err
	}
	if c.dirRemover, err = newDirRemover(c.dir); err != nil {
		return err
	}
	ports, err := freePorts(3)
	if err != nil {
		return err
	}
	c.etcdPort, c.port, c.peerPort = ports[0], ports[1], ports[2]
	if err := c.writeSecrets(); err != nil {
		return err
	}
	if err := c.StartEtcd(); err != nil {
		return err
	}
	if err := c.StartServer(ctx); err != nil {
		return err
	}
	if err := c.Prepare(ctx); err != nil {
		return err
	}
	return c.startComponents()
}

// StartEtcd starts etcd with its existing state, at first or after KillEtcd.
func (c *Cluster) StartEtcd() (err error) {
	client, peer := fmt.Sprintf("http://127.0.0.1:%d", c.etcdPort), fmt.Sprintf("http://127.0.0.1:%d", c.peerPort)
	c.etcd, err = startProcess(c.dir, filepath.Join(c.bin, "etcd"), "--data-dir=etcd", "--unsafe-no-fsync",
		"--listen-client-urls="+client, "--advertise-client-urls="+client,
		"--listen-peer-urls="+peer, "--initial-advertise-peer-urls="+peer, "--initial-cluster=default="+peer)
	return err
}

// KillEtcd kills etcd. Acknowledged writes are in files. Only a crash of the machine would lose them.
func (c *Cluster) KillEtcd() { c.etcd.killGroup() }

// StartServer starts kube-apiserver, at first or after KillServer, and waits until it is ready.
func (c *Cluster) StartServer(ctx context.Context) (err error) {
	c.server, err = startProcess(c.dir, filepath.Join(c.bin, "kube-apiserver"),
		fmt.Sprintf("--etcd-servers=http://127.0.0.1:%d", c.etcdPort),
		"--bind-address=127.0.0.1", "--advertise-address=127.0.0.1", fmt.Sprintf("--secure-port=%d", c.port), "--cert-dir=certs",
		"--service-account-issuer=https://kubernetes.default.svc", "--service-account-key-file=sa.pub", "--service-account-signing-key-file=sa.key",
		"--service-cluster-ip-range=10.0.0.0/24", "--authorization-mode=Node,RBAC", "--enable-admission-plugins=NodeRestriction",
		"--token-auth-file=tokens.csv", "--endpoint-reconciler-type=none", "--allow-privileged=true", "--kubelet-preferred-address-types=InternalIP",
		"--kubelet-client-certificate=kubelet-client.crt", "--kubelet-client-key=kubelet-client.key",
		"--audit-policy-file=audit.yaml", "--audit-log-path=audit.log")
	if err != nil {
		return err
	}
	return c.waitForServer(ctx)
}

// WaitServer waits until the running kube-apiserver is ready. Call it after KillEtcd and StartEtcd.
func (c *Cluster) WaitServer(ctx context.Context) error { return c.waitForServer(ctx) }

// KillServer kills kube-apiserver. Its state stays in etcd.
func (c *Cluster) KillServer() { c.server.killGroup() }

// FreezeServer stops kube-apiserver without closing its connections, until ThawServer.
func (c *Cluster) FreezeServer() { c.server.signalGroup(syscall.SIGSTOP) }

// ThawServer ends FreezeServer.
func (c *Cluster) ThawServer() { c.server.signalGroup(syscall.SIGCONT) }

// Stop kills all programs and removes all files.
func (c *Cluster) Stop() error {
	for _, p := range append(c.components, c.server, c.etcd) {
		if p != nil {
			p.killGroup()
		}
	}
	if c.dirRemover == nil {
		return nil
	}
	return c.dirRemover.removeDir()
}

// auditPolicy makes kube-apiserver record the requests of nodes with their bodies.
const auditPolicy = `apiVersion: audit.k8s.io/v1
kind: Policy
omitStages: [RequestReceived]
rules:
- level: Request
  userGroups: [system:nodes]
- level: None
`

// writeSecrets writes the files for authentication: the tokens, the service account keys and the client
// certificate of kube-apiserver. It also writes the audit policy.
func (c *Cluster) writeSecrets() error {
	key, err := rsa.GenerateKey(rand.Reader, 2048)
	if err != nil {
		return err
	}
	public, err := x509.MarshalPKIXPublicKey(&key.PublicKey)
	if err != nil {
		return err
	}
	tokens := "admin-token,admin,u-admin,\"system:masters\"\n"
	for _, node := range c.config.Nodes {
		tokens += fmt.Sprintf("%s-token,system:node:%s,u-%s,\"system:nodes\"\n", node, node, node)
	}
	return errors.Join(
		c.writeKubeletClientCertificate(),
		c.writeFile("sa.key", pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: x509.MarshalPKCS1PrivateKey(key)})),
		c.writeFile("sa.pub", pem.EncodeToMemory(&pem.Block{Type: "PUBLIC KEY", Bytes: public})),
		c.writeFile("tokens.csv", []byte(tokens)),
		c.writeFile("audit.yaml", []byte(auditPolicy)),
	)
}

// writeKubeletClientCertificate writes the CA, the key and the certificate with which kube-apiserver
// authenticates its requests to nodes.
func (c *Cluster) writeKubeletClientCertificate() error {
	template := func(subject pkix.Name) *x509.Certificate {
		return &x509.Certificate{
			SerialNumber: big.NewInt(1), Subject: subject, NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
			KeyUsage: x509.KeyUsageDigitalSignature, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		}
	}
	ca, client := template(pkix.Name{CommonName: "lab"}), template(pkix.Name{CommonName: "kube-apiserver-kubelet-client", Organization: []string{"system:masters"}})
	ca.IsCA, ca.BasicConstraintsValid, ca.KeyUsage = true, true, x509.KeyUsageCertSign
	caKey, err1 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	key, err2 := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err := errors.Join(err1, err2); err != nil {
		return err
	}
	caText, err1 := x509.CreateCertificate(rand.Reader, ca, ca, &caKey.PublicKey, caKey)
	text, err2 := x509.CreateCertificate(rand.Reader, client, ca, &key.PublicKey, caKey)
	keyText, err3 := x509.MarshalECPrivateKey(key)
	return errors.Join(err1, err2, err3,
		c.writeFile("kubelet-ca.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: caText})),
		c.writeFile("kubelet-client.crt", pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: text})),
		c.writeFile("kubelet-client.key", pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: keyText})),
	)
}

// ClientCA returns the file with the CA of kube-apiserver's client certificate for requests to nodes.
func (c *Cluster) ClientCA() string { return filepath.Join(c.dir, "kubelet-ca.crt") }

// writeFile writes a file in the directory of the cluster.
func (c *Cluster) writeFile(name string, text []byte) error {
	return os.WriteFile(filepath.Join(c.dir, name), text, 0o600)
}

// waitForServer waits until kube-apiserver is ready. It returns an error if kube-apiserver or etcd exits, or
// after startLimit.
func (c *Cluster) waitForServer(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	// The server generates its certificate at its start.
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true}, DisableKeepAlives: true}, Timeout: 5 * time.Second}
	return pollUntil(ctx, func() (bool, error) {
		if err := errors.Join(c.etcd.exitError(), c.server.exitError()); err != nil {
			return false, err
		}
		answer, err := client.Get(c.URL() + "/readyz")
		if err != nil {
			return false, nil
		}
		return answer.StatusCode == http.StatusOK, answer.Body.Close()
	})
}

// Prepare creates the objects that controllers would create: the default service account and the CA ConfigMap. Start
// calls it. Call it again after etcd has lost its data.
func (c *Cluster) Prepare(ctx context.Context) error {
	admin, err := c.Admin()
	if err != nil {
		return err
	}
	ca, err := os.ReadFile(c.caFile())
	if err != nil {
		return err
	}
	ctx, cancel := context.WithTimeout(ctx, startLimit)
	defer cancel()
	if err := pollUntil(ctx, func() (bool, error) {
		_, err := admin.Get(ctx, &v1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: v1.NamespaceNodeLease}})
		return err == nil, nil
	}); err != nil {
		return err
	}
	_, errAccount := admin.Create(ctx, &v1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "default"}})
	_, errMap := admin.Create(ctx, &v1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "kube-root-ca.crt"}, Data: map[string]string{"ca.crt": string(ca)}})
	for _, err := range []error{errAccount, errMap} {
		if err != nil && !apierrors.IsAlreadyExists(err) {
			return err
		}
	}
	return nil
}

// startComponents starts the scheduler and the controller manager, each if the Config asks for it.
func (c *Cluster) startComponents() error {
	if !c.config.Scheduler && c.config.Controllers == nil {
		return nil
	}
	path, err := c.Kubeconfig("admin")
	if err != nil {
		return err
	}
	if c.config.Scheduler {
		p, err := startProcess(c.dir, filepath.Join(c.bin, "kube-scheduler"), "--kubeconfig="+path, "--leader-elect=false", "--secure-port=0")
		if err != nil {
			return err
		}
		c.components = append(c.components, p)
	}
	if c.config.Controllers != nil {
		p, err := startProcess(c.dir, filepath.Join(c.bin, "kube-controller-manager"), "--kubeconfig="+path, "--leader-elect=false", "--secure-port=0",
			"--service-account-private-key-file=sa.key", "--root-ca-file="+c.caFile(), "--controllers="+strings.Join(c.config.Controllers, ","))
		if err != nil {
			return err
		}
		c.components = append(c.components, p)
	}
	return nil
}

// URL returns the URL of kube-apiserver.
func (c *Cluster) URL() string { return fmt.Sprintf("https://127.0.0.1:%d", c.port) }

func (c *Cluster) caFile() string { return filepath.Join(c.dir, "certs", "apiserver.crt") }

// Rest returns a client configuration for a node of Config.Nodes, or for "admin".
func (c *Cluster) Rest(user string) *rest.Config {
	return &rest.Config{Host: c.URL(), BearerToken: user + "-token", TLSClientConfig: rest.TLSClientConfig{CAFile: c.caFile()}}
}

// Kubeconfig writes the kubeconfig of a user and returns its path.
func (c *Cluster) Kubeconfig(user string) (string, error) {
	config := clientcmdapi.NewConfig()
	config.Clusters["lab"] = &clientcmdapi.Cluster{Server: c.URL(), CertificateAuthority: c.caFile()}
	config.AuthInfos["user"] = &clientcmdapi.AuthInfo{Token: user + "-token"}
	config.Contexts["lab"] = &clientcmdapi.Context{Cluster: "lab", AuthInfo: "user"}
	config.CurrentContext = "lab"
	path := filepath.Join(c.dir, user+".kubeconfig")
	return path, clientcmd.WriteToFile(*config, path)
}

// Dir returns the directory with the logs of the programs and the audit log.
func (c *Cluster) Dir() string { return c.dir }

// pollUntil calls isDone every 50 ms until it returns true or an error, or ctx is done. It returns the error of
// isDone or ctx.
func pollUntil(ctx context.Context, isDone func() (bool, error)) error {
	tick := time.NewTicker(50 * time.Millisecond)
	defer tick.Stop()
	for {
		if done, err := isDone(); done || err != nil {
			return err
		}
		select {
		case <-tick.C:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
}

// freePorts returns n TCP ports on which no program listens now.
func freePorts(n int) ([]int, error) {
	var ports []int
	for range n {
		l, err := net.Listen("tcp", "127.0.0.1:0")
		if err != nil {
			return nil, err
		}
		defer l.Close()
		ports = append(ports, l.Addr().(*net.TCPAddr).Port)
	}
	return ports, nil
}
