/* Recognises the kind of a file by its content, and says what to do with a path that holds no model. */
#ifndef TR_IMPORT_RECOGNISE_H
#define TR_IMPORT_RECOGNISE_H

#include "util/error.h"

typedef enum tr_kind {
    TR_KIND_UNKNOWN,
    TR_KIND_EMPTY,
    TR_KIND_GGUF,
    TR_KIND_GGUF_SWAPPED, /* big-endian */
    TR_KIND_GGML,
    TR_KIND_SAFETENSORS,
    TR_KIND_TORCH,  /* torch.save's zip archive */
    TR_KIND_PICKLE, /* torch.save before 1.6 */
    TR_KIND_SCRIPT, /* TorchScript */
    TR_KIND_CT2,    /* CTranslate2's model.bin */
    TR_KIND_NUMPY,  /* .npz */
    TR_KIND_ARGOS,  /* .argosmodel */
    TR_KIND_KERAS,
    TR_KIND_ZIP,
    TR_KIND_HDF5,
    TR_KIND_ONNX,
    TR_KIND_TFLITE,
    TR_KIND_FLAX,
    TR_KIND_PIECES, /* SentencePiece */
    TR_KIND_COMPRESSED,
    TR_KIND_TAR,
    TR_KIND_POINTER, /* Git LFS */
    TR_KIND_WEB,     /* a web page */
    TR_KIND_JSON,
    TR_KINDS,
} tr_kind;

/* Fails only if memory runs out. */
tr_status tr_recognise(const void *data, size_t size, tr_kind *kind, tr_error *error) TR_CHECKED;

/* True if a file begins like CTranslate2's model.bin, of any version. */
bool tr_is_ct2_file(const void *data, size_t size);

/* "is a safetensors file" */
const char *tr_kind_is(tr_kind kind);
/* "give its directory, which must hold config.json too"; "" if there is no advice */
const char *tr_kind_advice(tr_kind kind);

/* Fails with one line that says why the directory path is no model: which files it has and which are missing. */
tr_status tr_diagnose_directory(const char *path, tr_error *error);

#endif
