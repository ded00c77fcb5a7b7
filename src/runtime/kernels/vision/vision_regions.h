/* SPDX-License-Identifier: Apache-2.0 */
/*
 * vision_regions.h - regions of interest, for one element type.
 *
 * Included with these defined, once for each; all of them are undefined afterwards:
 *     T           element
 *     NAME(x)     names of what is defined here
 */

/* roi_align, and ps_roi_align where the channel depends on the bin (p.map then): the taps of one
 * region are found once, for all channels. */
static NAME(region_tap) * NAME(vision_taps)(const dense_regions *p, const NAME(region_box) * box) {
    size_t n = (size_t)(p->bins[0] * p->bins[1] * box->down * box->across);
    NAME(region_tap) *taps = mem_alloc(sizeof *taps * (n ? n : 1)), *t = taps;
    for (int64_t a = 0; taps && a < p->bins[0]; a++)
        for (int64_t b = 0; b < p->bins[1]; b++)
            for (int64_t i = 0; i < box->down; i++)
                for (int64_t k = 0; k < box->across; k++)
                    *t++ = NAME(region_tap_of)(p, box, a, b, i, k);
    return taps;
}

static void NAME(vision_align)(vision_job *j, int64_t r, int64_t image) {
    const dense_regions *p = &j->p;
    int64_t plane = p->height * p->width, bins = p->bins[0] * p->bins[1];
    const T *x = (const T *)p->x + image * p->channels * plane;
    T *y = (T *)p->y + r * p->out_channels * bins;
    NAME(region_box) box;
    NAME(region_tap) *taps = NAME(region_place)(p, r, &box) ? NAME(vision_taps)(p, &box) : NULL;
    if (!taps) {
        atomic_store(&j->no_memory, true);
        return;
    }
    int64_t n = box.down * box.across;
    for (int64_t c = 0; c < p->out_channels; c++)
        for (int64_t b = 0; b < bins; b++) {
            int64_t at = c * bins + b, from = p->map ? at : c;
            T sum = 0;
            for (int64_t i = 0; i < n; i++)
                sum += NAME(region_read)(x + from * plane, &taps[b * n + i]);
            y[at] = box.none ? (T)NAN : sum / (T)(n > 1 ? n : 1);
            if (p->map) p->map[r * p->out_channels * bins + at] = (int32_t)from;
        }
    mem_free(taps);
}

static void NAME(vision_region)(vision_job *j, int64_t r) {
    const dense_regions *p = &j->p;
    dense_int image;
    if (!NAME(region_image)(p, r, &image)) return; /* vision_check_rois refused it */
    if (j->kind == DENSE_ROI_ALIGN || j->kind == DENSE_PS_ROI_ALIGN) {
        NAME(vision_align)(j, r, image);
        return;
    }
    for (int64_t c = 0; c < p->out_channels; c++)
        for (int64_t a = 0; a < p->bins[0]; a++)
            for (int64_t b = 0; b < p->bins[1]; b++) {
                if (j->kind == DENSE_ROI_POOL) NAME(region_maximum)(p, r, image, c, a, b);
                else NAME(region_mean)(p, r, image, c, a, b);
            }
}

#undef T
#undef NAME
