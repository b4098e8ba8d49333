package localapi_test

import (
	"crypto/tls"
	"crypto/x509"
	"encoding/json"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/syncloop/localapi"
)

// TestCredentials: a client with a kubeconfig trusts the server of the next process, too, and
// no other.
func TestCredentials(t *testing.T) {
	first, err := localapi.NewCredentials()
	require.NoError(t, err)
	text, err := first.Marshal()
	require.NoError(t, err)
	next, err := localapi.ParseCredentials(text)
	require.NoError(t, err)
	other, err := localapi.NewCredentials()
	require.NoError(t, err)
	assert.NotEqual(t, first.Token, other.Token)

	var kubeconfig struct {
		Clusters []struct {
			Cluster struct {
				Server string
				CA     []byte `json:"certificate-authority-data"`
			}
		}
		Users []struct{ User struct{ Token string } }
	}
	require.NoError(t, json.Unmarshal(first.Kubeconfig("127.0.0.1:6443"), &kubeconfig))
	assert.Equal(t, "https://127.0.0.1:6443", kubeconfig.Clusters[0].Cluster.Server)
	assert.Equal(t, next.Token, kubeconfig.Users[0].User.Token)
	roots := x509.NewCertPool()
	require.True(t, roots.AppendCertsFromPEM(kubeconfig.Clusters[0].Cluster.CA))
	assert.NoError(t, dialServer(t, next, roots, ""))
	assert.NoError(t, dialServer(t, next, roots, "edge-1"))
	assert.ErrorContains(t, dialServer(t, next, roots, "elsewhere"), "certificate is valid for")
	assert.ErrorContains(t, dialServer(t, other, roots, ""), "unknown authority")
}

// dialServer connects to a server with these credentials by a name. Without a name it uses the address.
func dialServer(t *testing.T, c *localapi.Credentials, roots *x509.CertPool, name string) error {
	config, err := c.TLS("edge-1", "192.0.2.1", "")
	require.NoError(t, err)
	s := httptest.NewUnstartedServer(http.NotFoundHandler())
	s.Config.ErrorLog = log.New(io.Discard, "", 0)
	s.TLS = config
	s.StartTLS()
	defer s.Close()
	conn, err := tls.Dial("tcp", s.Listener.Addr().String(), &tls.Config{RootCAs: roots, ServerName: name})
	if err == nil {
		err = conn.Close()
	}
	return err
}

// TestParseCredentials_Broken: the error has no secret in it.
func TestParseCredentials_Broken(t *testing.T) {
	c, err := localapi.NewCredentials()
	require.NoError(t, err)
	good, err := c.Marshal()
	require.NoError(t, err)
	for _, text := range []string{"", "{}", string(good[:len(good)-9]), strings.Replace(string(good), "BEGIN CERT", "BEGIN", 1)} {
		_, err := localapi.ParseCredentials([]byte(text))
		require.ErrorContains(t, err, "localapi: these are no usable credentials: ")
		require.ErrorIs(t, err, localapi.ErrBadCredentials)
		assert.NotContains(t, err.Error(), c.Token)
	}
}
