package main

import (
	"log/slog"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/podkeel/podkeel/podmanager/apiserver/apiservertest"
)

// TestConfig_System: the node says which boot of the machine it runs in.
func TestConfig_System(t *testing.T) {
	o := &options{name: "n1", runtime: "memory", ips: []string{"127.0.0.1"}}
	config, err := o.config(apiservertest.New(apiservertest.Config{}).Client("n1"), slog.New(slog.DiscardHandler))
	require.NoError(t, err)
	assert.Equal(t, system(), config.Info)
	assert.NotEmpty(t, config.Info.BootID)
	assert.NotEmpty(t, config.Info.KernelVersion)
}
